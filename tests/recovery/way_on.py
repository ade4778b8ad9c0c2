"""No wedge: of every open run somebody knows when to look, and a person has something to do."""

from ledger.actions import offers
from ledger.due import MIN_LOOK_INTERVAL_SECONDS, REVIEW_REMINDER_SECONDS
from ledger.offer import Offer, RecoveryAction
from ledger.resume import next_state
from ledger.run import RunLedger
from ledger.transitions import EFFECT_TRANSITIONS, OPEN_RUN_STATES, RUN_TRANSITIONS, RunState
from providers.contracts import CONTRACTS
from workflows.migrations import VERSIONS
from workflows.registry import definition_for

RESUME_POINTS = frozenset({"Reconcile", "Review", "Done"})
# These leave a run where it is, or give it up. One that has nothing else is wedged.
WITHOUT_PROGRESS = frozenset({RecoveryAction.MARK_ENGINEERING, RecoveryAction.CLOSE})
# Reminders and requests for a decision end after a day; what is read is read more often.
LONGEST_UNWATCHED_MS = REVIEW_REMINDER_SECONDS * 1000


def offers_to_an_operator(ledger: RunLedger, now_ms: int) -> tuple[Offer, ...]:
    """Return what an operator would be shown of the run at this moment."""
    return offers(definition_for(ledger), ledger, CONTRACTS.__getitem__, now_ms, VERSIONS)


def check_has_a_way_on(ledger: RunLedger, now_ms: int, only_closing_because: str = "") -> None:
    """An open run is looked after at a known time, and whoever is waited for can do something.

    A case in which nothing but closing the run is honest says so in the words by which an
    operator is told why it does not go on.
    """
    run = ledger.run
    definition = definition_for(ledger)
    states = RESUME_POINTS | {stage.state_name for stage in definition.stages}
    assert next_state(definition, ledger) in states
    for effect in ledger.effects:
        assert EFFECT_TRANSITIONS[effect.state], f"{effect.effect_id} can go nowhere"
    assert RUN_TRANSITIONS[run.state], f"{run.run_id} can go nowhere"
    _check_is_looked_after(ledger, now_ms)
    if run.state is RunState.REVIEW:
        assert run.review_reason, "a review without a reason"
        check_person_can_act(ledger, now_ms, only_closing_because)
    else:
        assert not run.review_reason, "a reason without a review"
        assert not only_closing_because, f"{run.run_id} is {run.state}: nobody is asked to close it"


def _check_is_looked_after(ledger: RunLedger, now_ms: int) -> None:
    """One that has ended rests, or is looked after once more while its owner may change its word.

    An open one is due within a day; one that waits for its customer, at the end of the wait.
    """
    run = ledger.run
    owed = any(effect.recheck_at_ms() is not None for effect in ledger.effects)
    assert (run.due_at_ms is not None) == (run.state in OPEN_RUN_STATES or owed), run
    if run.state not in OPEN_RUN_STATES or run.due_at_ms is None:
        return
    assert run.due_at_ms <= now_ms + LONGEST_UNWATCHED_MS, "nobody looks for days"
    if run.state is RunState.AWAITING_APPROVAL:
        asked = ledger.pending_approval()
        assert asked is not None, "a customer is waited for who is asked nothing"
        latest_ms = asked.expires_at_ms + MIN_LOOK_INTERVAL_SECONDS * 1000
        assert run.due_at_ms <= latest_ms, "nobody notices that the customer did not answer"


def check_person_can_act(ledger: RunLedger, now_ms: int, only_closing_because: str = "") -> None:
    """Of a run in review something is allowed that leads on, or what the case says instead."""
    found = offers_to_an_operator(ledger, now_ms)
    allowed = {offer.action for offer in found if offer.allowed}
    refused = {offer.action: offer.refused_because for offer in found if not offer.allowed}
    assert all(refused.values()), f"refused without a reason: {refused}"
    in_a_call = any(effect.claim_is_live(now_ms) for effect in ledger.effects)
    assert RecoveryAction.CLOSE in allowed or in_a_call, refused
    if only_closing_because:
        assert allowed <= WITHOUT_PROGRESS, f"there is more to do than closing: {allowed}"
        assert only_closing_because in refused[RecoveryAction.RESUME], refused
    else:
        why = f"{ledger.run.review_reason}: {refused}"
        assert allowed - WITHOUT_PROGRESS, f"nothing is left but to give up: {why}"
