"""What waits for a person, at a glance: enough to choose which run to open first."""

from collections.abc import Mapping

from ledger.effect import Effect
from ledger.money import money_in
from ledger.record import Record
from ledger.run import Run, RunLedger
from ledger.settle import is_attested
from ledger.store import ReviewPlace
from ledger.transitions import EffectState, RunState

# What the provider refused, or holds otherwise than the ledger: a person has to decide about it.
CONTRARY_STATES = frozenset({EffectState.REJECTED, EffectState.CONFLICT, EffectState.CONTRADICTED})


class ReviewSummary(Record):
    """One run that waits for a person. Times are milliseconds since 1970."""

    run_id: str
    customer_id: str
    workflow: str
    view_version: int
    reason: str
    engineering: bool
    opened_at_ms: int
    waiting_since_ms: int
    amount: str
    """What the run was asked to move, for example ``USD 79.00``; empty when it moves nothing."""

    confirmed: tuple[str, ...]
    """The writes that are proven, each with the provider's record or on an operator's word."""

    unknown: tuple[str, ...]
    """The writes of which nothing is proven: each may be done already."""

    contrary: tuple[str, ...]
    """The writes that the provider refused, or whose record differs, each with its state."""


def review_place(run: Run) -> ReviewPlace | None:
    """Return where the run waits for a person, None while it does not.

    A run that was stored before the beginning of a review was kept waits since it was opened.
    """
    if run.state is not RunState.REVIEW:
        return None
    since_ms = run.opened_at_ms if run.review_since_ms is None else run.review_since_ms
    return ReviewPlace(since_ms=since_ms, run_id=run.run_id)


def review_summary(ledger: RunLedger, labels: Mapping[str, str]) -> ReviewSummary | None:
    """Return the run at a glance, None when it waits for nobody.

    ``labels`` are what people call the operations; one without a label goes by its name, so that
    a run whose workflow version is gone is listed all the same.
    """
    run = ledger.run
    waits = review_place(run)
    if waits is None:
        return None
    shown = [found for found in ledger.effects if _is_shown(ledger, found)]
    amount = money_in(run.request)
    return ReviewSummary(
        run_id=run.run_id,
        customer_id=run.customer_id,
        workflow=run.workflow,
        view_version=run.sequence,
        reason=run.review_reason,
        engineering=run.engineering,
        opened_at_ms=run.opened_at_ms,
        waiting_since_ms=waits.since_ms,
        amount=str(amount) if amount else "",
        confirmed=tuple(
            _with_record(found, labels) for found in shown if found.state is EffectState.CONFIRMED
        ),
        unknown=tuple(_label(found, labels) for found in shown if found.unsettled),
        contrary=tuple(
            f"{_label(found, labels)}: {found.state}"
            for found in shown
            if found.state in CONTRARY_STATES
        ),
    )


def _is_shown(ledger: RunLedger, effect: Effect) -> bool:
    """Return whether the effect counts: the newest does, and any other that is or may be there.

    An older report is none of those, and so is what a person gave up.
    """
    if ledger.is_undone(effect.effect_id):
        return False
    if effect == ledger.newest_effect(effect.operation):
        return True
    reported = effect.state is EffectState.CONFIRMED and effect.approval_id is None
    without_effect = effect.state in (EffectState.REJECTED, EffectState.PLANNED)
    return not (effect.superseded or reported or without_effect)


def _label(effect: Effect, labels: Mapping[str, str]) -> str:
    return labels.get(effect.operation, effect.operation)


def _with_record(effect: Effect, labels: Mapping[str, str]) -> str:
    if is_attested(effect):
        return f"{_label(effect, labels)}, on an operator's word"
    record_id = effect.evidence.record_id if effect.evidence else ""
    return f"{_label(effect, labels)} {record_id}".rstrip()
