"""What a run's records and its trail alone must show, wherever they are kept."""

from collections.abc import Sequence

from ledger.event import Event, EventKind
from ledger.run import RunLedger
from ledger.transitions import EFFECT_TRANSITIONS, RUN_TRANSITIONS, EffectState, RunState
from tests.recovery.way_on import check_has_a_way_on

BEGINNINGS = frozenset(
    {
        EventKind.APPROVAL_REQUESTED,
        EventKind.APPROVAL_WAIT_RENEWED,
        EventKind.EFFECT_CLAIMED,
        EventKind.EFFECT_PLANNED,
        EventKind.EXECUTION_RESUMED,
        EventKind.RUN_COMPLETED,
    }
)
# Stripe takes no longer key.
MAX_KEY_CHARACTERS = 255


def check_ledger(
    ledger: RunLedger,
    events: tuple[Event, ...],
    now_ms: int,
    markers: Sequence[str],
    only_closing_because: str = "",
) -> None:
    """Raise AssertionError unless everything holds that needs no look at the outside."""
    check_events(ledger, events)
    check_fenced(ledger, events)
    check_unknown_stays_unknown(ledger, events)
    check_keys_are_opaque(ledger)
    for text in (repr(ledger), *(event.model_dump_json() for event in events)):
        for marker in markers:
            assert marker.lower() not in text.lower(), f"{marker!r} is in {text}"
    check_has_a_way_on(ledger, now_ms, only_closing_because)


def check_events(ledger: RunLedger, events: tuple[Event, ...]) -> None:
    """Replay the trail: gapless, each state following from the one before, ending where we are."""
    check_numbers(ledger, events)
    states: dict[str, str] = {}
    version = events[0].workflow
    known = {ledger.run.run_id} | {effect.effect_id for effect in ledger.effects}
    for event in events:
        if event.kind is EventKind.RUN_MIGRATED:
            assert event.prior_state == version, f"{event} does not follow from {version}"
            version = event.state
        assert event.workflow == version, f"{event} is of another version than {version}"
        if event.subject in known and event.state:
            _check_move(event, states.get(event.subject, ""), is_run=event.run_id == event.subject)
            states[event.subject] = event.state
    assert version == ledger.run.workflow, "the run went over to another version without an event"
    assert states.pop(ledger.run.run_id) == ledger.run.state, "the run moved without an event"
    assert states == {effect.effect_id: effect.state.value for effect in ledger.effects}
    reached = {e.subject: e.at_ms for e in events if e.kind is EventKind.CHECKPOINT_REACHED}
    assert reached == {found.name: found.reached_at_ms for found in ledger.checkpoints}


def check_numbers(ledger: RunLedger, events: tuple[Event, ...]) -> None:
    """No event is missing, and each says who and why."""
    numbers = [event.sequence for event in events]
    assert numbers == list(range(1, ledger.run.sequence + 1)), f"gaps in {numbers}"
    for event in events:
        assert event.actor.kind, f"{event} names no actor"
        assert event.reason, f"{event} gives no reason"


def check_fenced(ledger: RunLedger, events: tuple[Event, ...]) -> None:
    """An execution that was replaced begins nothing more. What it learns late is still kept."""
    for event in events:
        if event.actor.kind == "execution" and event.kind in BEGINNINGS:
            owner = f"{ledger.run.run_id}-e{event.epoch}"
            assert event.actor.actor_id == owner, f"{event} was written by a replaced execution"


def check_unknown_stays_unknown(ledger: RunLedger, events: tuple[Event, ...]) -> None:
    """A refusal speaks for its own attempt only, so it does not end an unknown that came before."""
    for effect in ledger.effects:
        history = [event.state for event in events if event.subject == effect.effect_id]
        for number, state in enumerate(history):
            if state != EffectState.REJECTED:
                continue
            unknown_at = max(_positions(history[:number], EffectState.UNKNOWN), default=-1)
            accepted_at = max(_positions(history[:number], EffectState.ACCEPTED), default=-1)
            assert accepted_at >= unknown_at, f"{effect.operation}: unknown became refused"


def check_keys_are_opaque(ledger: RunLedger) -> None:
    """A key tells nobody whom it is about, and every provider takes it."""
    for effect in ledger.effects:
        assert len(effect.idempotency_key) < MAX_KEY_CHARACTERS
        assert str(ledger.run.customer_id) not in effect.idempotency_key


def _check_move(event: Event, before: str, *, is_run: bool) -> None:
    assert event.prior_state == before, f"{event} does not follow from {before!r}"
    if not before:
        assert event.state == (RunState.ACTIVE if is_run else EffectState.PLANNED)
    elif event.state != before and is_run:
        assert event.state in RUN_TRANSITIONS[RunState(before)], event
    elif event.state != before:
        assert event.state in EFFECT_TRANSITIONS[EffectState(before)], event


def _positions(history: list[str], state: EffectState) -> list[int]:
    return [number for number, found in enumerate(history) if found == state]
