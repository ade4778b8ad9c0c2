"""Changes that contradict themselves, and changes at the bounds of one transaction."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from enum import StrEnum
from typing import Any

from adapters.change_check import MAX_ACTIONS, MAX_CHANGE_BYTES, MAX_RECORD_BYTES
from ledger.event import Event
from ledger.record import Record
from ledger.store import Change
from tests.builders import an_effect, personal_fields
from tests.contract.differential.sizes import grown

LARGE_RECORDS = 9  # together they pass the limit of a change before one passes its own
LONG_NAMES = 40


class Flaw(StrEnum):
    """What a change is made into."""

    NONE = "none"
    NO_EVENT = "no event"
    LATE_START = "late start"
    GAP = "gap"
    HEAD_AHEAD = "head ahead"
    ANOTHER_RUN = "another run"
    ANOTHER_COMMIT = "another commit"
    ANOTHER_CUSTOMER = "another customer"
    EFFECT_TWICE = "effect twice"
    AS_MANY_AS_FIT = "as many as fit"
    ONE_TOO_MANY = "one too many"
    AS_LARGE_AS_FITS = "as large as fits"
    TOO_LARGE = "too large"
    LONG_NAMES = "long names beside a large head"


def made_into(flaw: Flaw, change: Change) -> Change:
    """Return the change with the flaw."""
    return _MADE[flaw](change) if flaw in _MADE else change


def _with(change: Change, **update: Any) -> Change:
    return replace(change, **update)


def _renumbered(change: Change, sequences: list[int]) -> Change:
    events = tuple(
        event.model_copy(update={"sequence": sequence})
        for event, sequence in zip(change.events, sequences, strict=True)
    )
    head = change.run.model_copy(update={"sequence": sequences[-1]})
    return _with(change, events=events, run=head)


def _late(change: Change) -> Change:
    return _renumbered(change, [event.sequence + 1 for event in change.events])


def _gap(change: Change) -> Change:
    first, *rest = [event.sequence for event in _of_events(change, 3).events]
    return _renumbered(_of_events(change, 3), [first, *(number + 1 for number in rest)])


def _ahead(change: Change) -> Change:
    return _with(change, run=change.run.model_copy(update={"sequence": change.run.sequence + 1}))


def _with_last_event(change: Change, **update: Any) -> Change:
    *events, last = change.events
    return _with(change, events=(*events, last.model_copy(update=update)))


def _of_events(change: Change, count: int) -> Change:
    first = change.events[0]
    numbers = range(first.sequence, first.sequence + count)
    events: tuple[Event, ...] = tuple(
        first.model_copy(update={"sequence": number}) for number in numbers
    )
    return _with(change, events=events, run=change.run.model_copy(update={"sequence": numbers[-1]}))


def _of_records(change: Change, count: int) -> Change:
    others: list[Record] = [change.run, *change.effects, *change.approvals, *change.checkpoints]
    return _of_events(change, count - len(others) - (change.personal is not None))


def _of_bytes(change: Change, size_bytes: int) -> Change:
    each = size_bytes // LARGE_RECORDS
    effects = [an_effect(effect_id=f"large-{number}") for number in range(LARGE_RECORDS)]
    return _with(change, effects=tuple(grown(effect, each) for effect in effects))


def _long_names(change: Change) -> Change:
    effects = [an_effect(effect_id=f"{number:0900d}") for number in range(LONG_NAMES)]
    return _with(change, run=grown(change.run, MAX_RECORD_BYTES - 200), effects=tuple(effects))


_MADE: Mapping[Flaw, Callable[[Change], Change]] = {
    Flaw.NO_EVENT: lambda change: _with(change, events=()),
    Flaw.LATE_START: _late,
    Flaw.GAP: _gap,
    Flaw.HEAD_AHEAD: _ahead,
    Flaw.ANOTHER_RUN: lambda change: _with_last_event(change, run_id="another"),
    Flaw.ANOTHER_COMMIT: lambda change: _with_last_event(change, commit_id="another"),
    Flaw.ANOTHER_CUSTOMER: lambda change: _with(change, personal=personal_fields(run_id="another")),
    Flaw.EFFECT_TWICE: lambda change: _with(change, effects=(an_effect(), an_effect(instance=2))),
    Flaw.AS_MANY_AS_FIT: lambda change: _of_records(change, MAX_ACTIONS),
    Flaw.ONE_TOO_MANY: lambda change: _of_records(change, MAX_ACTIONS + 1),
    Flaw.AS_LARGE_AS_FITS: lambda change: _of_bytes(change, MAX_CHANGE_BYTES - 60_000),
    Flaw.TOO_LARGE: lambda change: _of_bytes(change, MAX_CHANGE_BYTES + 60_000),
    Flaw.LONG_NAMES: _long_names,
}
