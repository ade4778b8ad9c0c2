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
    run_id = after.run.run_id
    effect_ids = {found.effect_id for found in after.effects}
    for event in change.events:
        known.sequence += 1
        check.require("trail", "a gap", holds=event.sequence == known.sequence)
        check.require("trail", "no reason", holds=event.reason and event.actor.kind)
        moved = event.kind is not EventKind.OPERATOR_ACTED
        if moved and event.state and (event.subject == run_id or event.subject in effect_ids):
            _check_move(check, known, event, ALLOWED_RUN if event.subject == run_id else ALLOWED)
    check.require("trail", "the head", holds=after.run.sequence == known.sequence)
    moved = known.states.get(run_id) != after.run.state.value
    check.require("trail", "the run moved without an event", holds=not moved)
    for effect in change.effects:
        moved = known.states.get(effect.effect_id) != effect.state.value
        check.require("trail", "an effect moved without an event", holds=not moved)
    told = {event.subject for event in change.events if event.kind is EventKind.CHECKPOINT_REACHED}
    written = {found.name for found in change.checkpoints}
    check.require("trail", "a checkpoint without an event", holds=told == written)
    if before is not None:
        _check_owner(check, before, change, process)


def _check_move(check: "Check", known: Trail, event: Event, allowed: dict[str, set[str]]) -> None:
    before = known.states.get(event.subject, "")
    check.require(
        "trail",
        f"{event.kind} says {event.prior_state}, not {before}",
        holds=event.prior_state == before,
    )
    if before and event.state != before:
        check.require("trail", f"{before} -> {event.state}", holds=event.state in allowed[before])
    elif not before:
        first = event.state in (EffectState.PLANNED, RunState.ACTIVE)
        check.require("trail", f"begins as {event.state}", holds=first)
    known.states[event.subject] = event.state


def _check_owner(check: "Check", before: RunLedger, change: Change, process: "Process") -> None:
    """A replaced execution changes nothing more, except that what its worker learned is kept."""
    for event in change.events:
        if event.actor.kind != "execution":
            continue
        owner = before.run.execution_name
        learned = any(found.kind in LATE_KINDS for found in change.events)
        late = learned or RECONCILES in process.name
        check.require(
            "fence",
            f"{event.kind} by {event.actor.actor_id} while {owner} owns the run",
            holds=event.actor.actor_id == owner or late,
        )
        closed = not before.run.is_open
        check.require("fence", f"{process.name} acts on a closed run", holds=late or not closed)
