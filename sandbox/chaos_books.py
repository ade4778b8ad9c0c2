"""The provider's books against the ledger's, line by line and both ways; plain data alone."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ledger.money import Money
from ledger.transitions import EffectState, RunState

REFUND, RENEWAL, RECEIPT = "refund", "cancel_renewal", "receipt"
# With one of these the ledger says that nothing is at the provider.
_DENIES = frozenset({EffectState.PLANNED, EffectState.REJECTED})
_SETTLED = frozenset({RunState.COMPLETED, RunState.CLOSED, RunState.REVIEW})
_EXPLAINED = frozenset({RunState.CLOSED, RunState.REVIEW})


@dataclass(frozen=True)
class RefundLine:
    """One refund as the provider holds it; `effect_id` is our mark, None without one."""

    refund_id: str
    charge_id: str
    amount_minor: int
    currency: str
    effect_id: str | None


@dataclass(frozen=True)
class MailLine:
    """One mail that the mail service accepted."""

    message_id: str
    to: tuple[str, ...]
    text: str


@dataclass(frozen=True)
class ProviderBooks:
    """What the outside holds."""

    refunds: tuple[RefundLine, ...]
    charged_minor: dict[str, int]
    """By charge."""
    renewals_off: frozenset[str]
    """Subscriptions that end with their period."""
    mails: tuple[MailLine, ...]


@dataclass(frozen=True)
class EffectLine:
    """One effect as the ledger holds it."""

    effect_id: str
    operation: str
    state: str
    target: str
    """The charge, the subscription or the customer."""
    amount_minor: int = 0
    currency: str = ""
    record_id: str | None = None
    """Of the provider's record that proves it."""
    idempotency_key: str = ""


@dataclass(frozen=True)
class RunLine:
    """One run with its effects and the numbers of its events."""

    run_id: str
    address: str
    """Where its customer gets mail."""
    state: str
    reason: str
    sequence: int
    event_numbers: tuple[int, ...]
    effects: tuple[EffectLine, ...]

    @property
    def settled(self) -> bool:
        """Whether it is over, or a person has it."""
        return self.state in _SETTLED


@dataclass(frozen=True)
class LedgerBooks:
    """What the ledger holds, and which runs were asked for."""

    runs: tuple[RunLine, ...]
    asked: frozenset[str]

    @property
    def keys(self) -> dict[str, str]:
        """The effect of each idempotency key."""
        return {
            effect.idempotency_key: effect.effect_id for run in self.runs for effect in run.effects
        }

    def effects_of(self, operation: str) -> list[tuple[RunLine, EffectLine]]:
        """Every effect of this operation with its run."""
        return [
            (run, effect)
            for run in self.runs
            for effect in run.effects
            if effect.operation == operation
        ]


@dataclass(frozen=True)
class Difference:
    """One line that the two books do not share."""

    kind: str
    where: str
    words: str


def compare(provider: ProviderBooks, ledger: LedgerBooks) -> tuple[Difference, ...]:
    """Every difference; none when each line of either book has its line in the other."""
    return (
        *_refunds_in_ledger(provider, ledger),
        *_refund_effects_at_provider(provider, ledger),
        *_sums(provider, ledger),
        *_renewals(provider, ledger),
        *_mails_in_ledger(provider, ledger),
        *_receipts_at_provider(provider, ledger),
        *_trails(ledger),
        *_outcomes(ledger),
    )


def _refunds_in_ledger(provider: ProviderBooks, ledger: LedgerBooks) -> Iterator[Difference]:
    effects = {effect.effect_id: effect for _, effect in ledger.effects_of(REFUND)}
    seen: Counter[str] = Counter()
    for refund in provider.refunds:
        effect = effects.get(refund.effect_id or "")
        if effect is None:
            yield Difference("refund without effect", refund.refund_id, f"mark {refund.effect_id}")
            continue
        seen[effect.effect_id] += 1
        if seen[effect.effect_id] > 1:
            yield Difference("doubled refund", refund.refund_id, f"of effect {effect.effect_id}")
        if effect.state in _DENIES:
            words = f"the ledger says {effect.state} of {effect.effect_id}"
            yield Difference("denied refund", refund.refund_id, words)
        held = (refund.charge_id, refund.amount_minor, refund.currency)
        meant = (effect.target, effect.amount_minor, effect.currency)
        if held != meant:
            words = f"the provider holds {held}, the ledger meant {meant}"
            yield Difference("other refund", refund.refund_id, words)


def _refund_effects_at_provider(
    provider: ProviderBooks, ledger: LedgerBooks
) -> Iterator[Difference]:
    marked = {(refund.effect_id, refund.refund_id) for refund in provider.refunds}
    for _, effect in ledger.effects_of(REFUND):
        confirmed = effect.state == EffectState.CONFIRMED
        if confirmed and (effect.effect_id, effect.record_id) not in marked:
            words = f"the ledger's evidence is {effect.record_id}"
            yield Difference("confirmed without refund", effect.effect_id, words)


def _sums(provider: ProviderBooks, ledger: LedgerBooks) -> Iterator[Difference]:
    """More back than was paid, or than the customer approved."""
    back: Counter[str] = Counter()
    for refund in provider.refunds:
        back[refund.charge_id] += refund.amount_minor
    approved: Counter[str] = Counter()
    for _, effect in ledger.effects_of(REFUND):
        approved[effect.target] += effect.amount_minor
    for charge_id, sum_minor in back.items():
        limit = min(provider.charged_minor.get(charge_id, 0), approved[charge_id])
        if sum_minor > limit:
            yield Difference("too much back", charge_id, f"{sum_minor} of at most {limit}")


def _renewals(provider: ProviderBooks, ledger: LedgerBooks) -> Iterator[Difference]:
    states = defaultdict(set)
    for _, effect in ledger.effects_of(RENEWAL):
        states[effect.target].add(effect.state)
    for subscription_id in provider.renewals_off:
        if not states[subscription_id] - _DENIES:
            yield Difference("renewal off without effect", subscription_id, "ended by nobody")
    for subscription_id, found in states.items():
        if EffectState.CONFIRMED in found and subscription_id not in provider.renewals_off:
            yield Difference("confirmed, renewal on", subscription_id, "it will be charged again")


def _mails_in_ledger(provider: ProviderBooks, ledger: LedgerBooks) -> Iterator[Difference]:
    run_of = {run.address: run for run in ledger.runs}
    seen: Counter[str] = Counter()
    for mail in provider.mails:
        run = next((run_of[address] for address in mail.to if address in run_of), None)
        receipts = _of(run, RECEIPT)
        if run is None or not receipts:
            yield Difference("mail without receipt", mail.message_id, "no run meant to send it")
            continue
        seen[run.run_id] += 1
        if seen[run.run_id] > len(receipts):
            yield Difference("doubled mail", mail.message_id, f"of run {run.run_id}")
        if all(receipt.state in _DENIES for receipt in receipts):
            words = f"the ledger says {receipts[-1].state} of {receipts[-1].effect_id}"
            yield Difference("denied mail", mail.message_id, words)
        if not any(_quotes(mail, effect) for effect in _of(run, REFUND)):
            yield Difference("mail of another refund", mail.message_id, f"of run {run.run_id}")


def _receipts_at_provider(provider: ProviderBooks, ledger: LedgerBooks) -> Iterator[Difference]:
    told = {address for mail in provider.mails for address in mail.to}
    for run, effect in ledger.effects_of(RECEIPT):
        if effect.state == EffectState.CONFIRMED and run.address not in told:
            yield Difference("confirmed without mail", effect.effect_id, f"of run {run.run_id}")


def _trails(ledger: LedgerBooks) -> Iterator[Difference]:
    for run in ledger.runs:
        if run.event_numbers != tuple(range(1, run.sequence + 1)):
            words = f"{len(run.event_numbers)} events, the newest is number {run.sequence}"
            yield Difference("gap in the trail", run.run_id, words)


def _outcomes(ledger: LedgerBooks) -> Iterator[Difference]:
    found = {run.run_id for run in ledger.runs}
    for run_id in sorted(ledger.asked - found):
        yield Difference("run that is lost", run_id, "the API promised it")
    for run_id in sorted(found - ledger.asked):
        yield Difference("run that nobody asked for", run_id, "")
    for run in ledger.runs:
        if not run.settled:
            yield Difference("unsettled run", run.run_id, f"it is {run.state}")
        elif run.state in _EXPLAINED and not run.reason:
            yield Difference("no reason given", run.run_id, f"it is {run.state}")
        elif run.state == RunState.COMPLETED and not _all_confirmed(run.effects):
            yield Difference("completed too early", run.run_id, "an effect of it is not confirmed")


def _all_confirmed(effects: Iterable[EffectLine]) -> bool:
    confirmed = {found.operation for found in effects if found.state == EffectState.CONFIRMED}
    return confirmed == {REFUND, RENEWAL, RECEIPT}


def _of(run: RunLine | None, operation: str) -> list[EffectLine]:
    return [found for found in run.effects if found.operation == operation] if run else []


def _quotes(mail: MailLine, effect: EffectLine) -> bool:
    """Whether the mail names the refund that the ledger recorded, and its amount."""
    if effect.record_id is None:
        return False
    amount = Money(amount_minor=effect.amount_minor, currency=effect.currency)
    return effect.record_id in mail.text and str(amount) in mail.text
