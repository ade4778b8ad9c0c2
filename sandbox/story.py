"""The demo's story in ten lines: each says what a system of record holds."""

from rich.console import Console

from ledger.money import Money
from sandbox.findings import Findings
from sandbox.stripe_seed import CHARGE_AMOUNT_MINOR, CURRENCY, REFUND_AMOUNT_MINOR


def tell(console: Console, found: Findings, charge_id: str, digest: str, told: str) -> None:
    """Prints the story; `told` is what the API answers the customer in the end."""
    console.rule("The story in ten lines")
    for number, line in enumerate(_lines(found, charge_id, digest, told), start=1):
        console.print(f"{number:>3}  {line}", highlight=False, soft_wrap=True)


def _lines(found: Findings, charge_id: str, digest: str, told: str) -> list[str]:
    charged = Money(amount_minor=CHARGE_AMOUNT_MINOR, currency=CURRENCY)
    wanted = Money(amount_minor=REFUND_AMOUNT_MINOR, currency=CURRENCY)
    quoting = ", quoting the refund" if found.receipt_quotes_refund else ""
    return [
        f"An agent asked to cancel a renewal and to refund {wanted} of {charged} ({charge_id}).",
        f"The customer approved exactly the payload with {digest}.",
        _killed(found),
        f"The ledger's record of the refund: {' → '.join(found.refund_states)}.",
        f"{_count(found.refund_requests, 'refund request')} ever reached the provider.",
        f"The provider holds {_count(found.refunds_at_provider, 'refund')} of the charge, "
        f"{_money(found.refunded_minor)} in all: {found.refund_id}.",
        f"The ledger proves it in {_count(len(found.events), 'event')} "
        f"{'without' if found.events_gapless else 'WITH'} a gap; the run is {found.final_state}.",
        f"The customer got {_count(found.receipts_sent, 'receipt')}{quoting}; the API says: {told}",
        f"From the kill to the confirmed refund: {_seconds(found.seconds_from_kill_to_confirmed)}.",
        "One refund, one receipt, completed." if found.proven else "NOT PROVEN: see above.",
    ]


def _killed(found: Findings) -> str:
    if not found.worker_killed:
        return "The worker was NOT killed, so nothing is proven."
    return (
        f"The provider committed the refund, and the worker (process {found.killed_pid}) "
        "was killed before the answer reached it."
    )


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


def _money(amount_minor: int) -> str:
    return str(Money(amount_minor=amount_minor, currency=CURRENCY)) if amount_minor else "nothing"


def _seconds(seconds: float | None) -> str:
    return "never" if seconds is None else f"{seconds:.1f} s"
