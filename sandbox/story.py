"""The demo's story in ten lines: each says what a system of record holds."""

from rich.console import Console

from ledger.money import Money
from sandbox.findings import Findings
from sandbox.stripe_seed import CHARGE_AMOUNT_MINOR, CURRENCY, REFUND_AMOUNT_MINOR

_DIGEST_CHARACTERS = 12


def tell(console: Console, found: Findings, charge_id: str, told: str) -> None:
    """Prints the story; `told` is what the API answers the customer in the end."""
    console.rule("The story in ten lines")
    for number, line in enumerate(_lines(found, charge_id, told), start=1):
        console.print(f"{number:>3}  {line}", highlight=False, soft_wrap=True)


def _lines(found: Findings, charge_id: str, told: str) -> list[str]:
    charged = Money(amount_minor=CHARGE_AMOUNT_MINOR, currency=CURRENCY)
    wanted = Money(amount_minor=REFUND_AMOUNT_MINOR, currency=CURRENCY)
    whose = "with our id" if found.refund_carries_effect_id else "WITHOUT our id"
    return [
        f"An agent asked to end a renewal and to refund {wanted} of {charged} ({charge_id}).",
        f"The customer approved exactly one payload, {_short(found.approved_digest)}.",
        _killed(found),
        f"The ledger's record of the refund: {' → '.join(found.refund_states)}.",
        f"From the kill to its proof: {_seconds(found.seconds_from_kill_to_confirmed)}; "
        f"{_count(found.refund_requests, 'refund request')} ever reached Stripe.",
        f"Stripe holds {_count(found.refunds_at_provider, 'refund')} of the charge, "
        f"{_money(found.refunded_minor)}, {whose}: {found.refund_id}.",
        f"Stripe will {'not' if found.renewal_off else 'STILL'} renew the subscription "
        f"{found.subscription_id}.",
        _receipt(found),
        f"The run is {found.final_state}, in {_count(len(found.events), 'event')} "
        f"{'without' if found.events_gapless else 'WITH'} a gap; the API says: {told}",
        "One refund, one receipt, no renewal, completed: proven."
        if found.proven
        else "NOT PROVEN: see above.",
    ]


def _short(digest: str) -> str:
    """Enough of it to recognise; demo.json has the whole."""
    method, _, value = digest.rpartition(":")
    return f"{method}:{value[:_DIGEST_CHARACTERS]}…" if method else value


def _receipt(found: Findings) -> str:
    subject = f' "{found.receipt_subject}"' if found.receipt_subject else ""
    quoting = "quoting its id and amount" if found.receipt_quotes_refund else "NOT quoting it"
    return f"The customer got {_count(found.receipts_sent, 'receipt')}{subject}, {quoting}."


def _killed(found: Findings) -> str:
    if not found.worker_killed:
        return "The worker was NOT killed, so nothing is proven."
    return (
        f"Stripe committed the refund; the worker (process {found.killed_pid}) was killed "
        "before the answer."
    )


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


def _money(amount_minor: int) -> str:
    return str(Money(amount_minor=amount_minor, currency=CURRENCY)) if amount_minor else "nothing"


def _seconds(seconds: float | None) -> str:
    return "never" if seconds is None else f"{seconds:.1f} s"
