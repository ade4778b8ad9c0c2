"""The trail of events: gapless, each state following from the one before, each by its owner."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ledger.event import Event, EventKind
from ledger.run import RunLedger
from ledger.store import Change
from ledger.transitions import EFFECT_TRANSITIONS, RUN_TRANSITIONS, EffectState, RunState

if TYPE_CHECKING:
    from tests.simulation.check import Check
    from tests.simulation.process import Process

# Copied when first imported, so that a changed table does not change what is checked.
ALLOWED = {
    before.value: {after.value for after in into} for before, into in EFFECT_TRANSITIONS.items()
}
ALLOWED_RUN = {
    before.value: {after.value for after in into} for before, into in RUN_TRANSITIONS.items()
}
WAS_CONFIRMED = frozenset({EffectState.CONFIRMED, EffectState.CONTRADICTED, EffectState.UNKNOWN})
# What a worker that has lost its run may still write: what it learned.
LATE_KINDS = frozenset(
    {
        EventKind.LATE_RESULT_RECORDED,
        EventKind.EFFECT_NOT_REACHED,
        EventKind.EFFECT_CONTRADICTED,
    }
)
RECONCILES = ":Reconcile:"  # a read is a fact, whoever made it


@dataclass
class Trail:
    """The states of one run and its effects as the events alone tell them."""

    sequence: int = 0
    states: dict[str, str] = field(default_factory=dict)


def check_change(
    check: "Check",
    known: Trail,
    process: "Process",
    before: RunLedger | None,
    after: RunLedger,
    change: Change,
) -> None:
    """Check numbering, order of states, and that nothing moved without its event."""
    _check_events(check, known, after, change)
    if after.run.sequence != known.sequence:
        check.fail("trail", "the head")
    if known.states.get(after.run.run_id) != after.run.state:
        check.fail("trail", "the run moved without an event")
    for effect in change.effects:
        if known.states.get(effect.effect_id) != effect.state:
            check.fail("trail", "an effect moved without an event")
    if before is not None:
        _check_owner(check, before, change, process)


def _check_events(check: "Check", known: Trail, after: RunLedger, change: Change) -> None:
    """Follow the events, each from where the one before it has led."""
    told: set[str] = set()
    for event in change.events:
        known.sequence += 1
        if event.sequence != known.sequence:
            check.fail("trail", "a gap")
        if not event.reason or not event.actor.kind:
            check.fail("trail", "no reason")
        if event.kind in (EventKind.CHECKPOINT_REACHED, EventKind.CHECKPOINT_WITHDRAWN):
            told.add(event.subject)
        if event.state and event.kind is not EventKind.OPERATOR_ACTED:
            _check_subject(check, known, after, event)
    if told != {found.name for found in change.checkpoints}:
        check.fail("trail", "a checkpoint without an event")


def _check_subject(check: "Check", known: Trail, after: RunLedger, event: Event) -> None:
    if event.subject == after.run.run_id:
        _check_move(check, known, event, ALLOWED_RUN)
    elif after.effect(event.subject) is not None:
        _check_move(check, known, event, ALLOWED)


def _check_move(check: "Check", known: Trail, event: Event, allowed: dict[str, set[str]]) -> None:
    before = known.states.get(event.subject, "")
    if event.prior_state != before:
        check.fail("trail", f"{event.kind} says {event.prior_state}, not {before}")
    if before and event.state != before and event.state not in allowed[before]:
        check.fail("trail", f"{before} -> {event.state}")
    if not before and event.state not in (EffectState.PLANNED, RunState.ACTIVE):
        check.fail("trail", f"begins as {event.state}")
    known.states[event.subject] = event.state


def _check_owner(check: "Check", before: RunLedger, change: Change, process: "Process") -> None:
    """A replaced execution changes nothing more, except that what its worker learned is kept."""
    fenced = [found for found in change.events if found.actor.kind == "execution"]
    if not fenced:
        return
    owner = before.run.execution_name
    if before.run.is_open and all(found.actor.actor_id == owner for found in fenced):
        return
    learned = any(f.kind in LATE_KINDS for f in change.events)
    # What a read showed beside our own record moves nothing.
    remarks = all(f.kind is EventKind.REMARK_NOTED for f in change.events)
    late = RECONCILES in process.name or learned or remarks
    if not late:
        event = next((f for f in fenced if f.actor.actor_id != owner), fenced[0])
        what = f"{event.kind} of {process.name} by {event.actor.actor_id}"
        check.fail("fence", f"{what} while {owner} owns the run, which is {before.run.state}")
