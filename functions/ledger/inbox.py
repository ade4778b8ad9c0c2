"""What waits for a person, at a glance: enough to choose which run to open first."""

from ledger.money import money_in
from ledger.projection import EffectFacts, project
from ledger.record import Record
from ledger.run import Run, RunLedger
from ledger.status import MAY_BE_UNDONE_WORDS
from ledger.store import ReviewPlace
from ledger.transitions import UNSETTLED_EFFECT_STATES, EffectState, RunState
from ledger.workflow import WorkflowDefinition

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
    """The writes of which nothing is proven, each of which may be done already, and those of which
    it is not proven whether they still stand."""

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


def review_summary(
    definition: WorkflowDefinition, ledger: RunLedger, now_ms: int
) -> ReviewSummary | None:
    """Return the run at a glance, None when it waits for nobody.

    It is told from the facts that the run's own page is, so that the two cannot disagree.
    """
    run = ledger.run
    waits = review_place(run)
    if waits is None:
        return None
    facts = project(definition, ledger, now_ms)
    shown = [found for found in facts.counting_effects if not found.undone]
    amount = money_in(run.request)
    return ReviewSummary(
        run_id=facts.run_id,
        customer_id=facts.customer_id,
        workflow=facts.workflow,
        view_version=facts.view_version,
        reason=facts.review_reason,
        engineering=facts.engineering,
        opened_at_ms=facts.opened_at_ms,
        waiting_since_ms=waits.since_ms,
        amount=str(amount) if amount else "",
        confirmed=tuple(
            _with_record(found)
            for found in shown
            if found.state is EffectState.CONFIRMED and not found.may_be_undone
        ),
        unknown=tuple(
            f"{_with_record(found)}: {MAY_BE_UNDONE_WORDS}" if found.may_be_undone else found.label
            for found in shown
            if found.may_be_undone or found.state in UNSETTLED_EFFECT_STATES
        ),
        contrary=tuple(
            f"{found.label}: {found.state}" for found in shown if found.state in CONTRARY_STATES
        ),
    )


def _with_record(effect: EffectFacts) -> str:
    if effect.attested:
        return f"{effect.label}, on an operator's word"
    return f"{effect.label} {effect.record_id or ''}".rstrip()
