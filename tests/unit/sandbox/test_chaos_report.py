"""A chaos run is proven by equal books alone, and its summary says how long the worst took."""

from typing import Any

import pytest

from ledger.event import Actor, Event, EventKind
from ledger.transitions import EffectState, RunState
from sandbox.chaos_books import Difference, LedgerBooks, ProviderBooks, RunLine
from sandbox.chaos_faults import FaultKind, Happened
from sandbox.chaos_report import Chaos, report


def event(sequence: int, at_ms: int, kind: EventKind, subject: str, state: str) -> Event:
    return Event(
        run_id="run_1",
        sequence=sequence,
        at_ms=at_ms,
        kind=kind,
        actor=Actor(kind="worker", actor_id="one"),
        reason="",
        workflow="cancel-refund@4",
        epoch=1,
        commit_id=str(sequence),
        subject=subject,
        state=state,
    )


TRAIL = (
    event(1, 1_000, EventKind.RUN_OPENED, "run_1", RunState.ACTIVE),
    event(2, 5_000, EventKind.EFFECT_UNKNOWN, "eff_1", EffectState.UNKNOWN),
    event(3, 12_000, EventKind.EFFECT_CONFIRMED, "eff_1", EffectState.CONFIRMED),
    event(4, 20_000, EventKind.RUN_COMPLETED, "run_1", RunState.COMPLETED),
)


def found(**changes: Any) -> Chaos:
    run = RunLine("run_1", "one@chaos.example", RunState.COMPLETED, "", 4, (1, 2, 3, 4), ())
    given: dict[str, Any] = {
        "seed": 7,
        "planned": (),
        "happened": (),
        "provider": ProviderBooks((), {}, frozenset(), ()),
        "ledger": LedgerBooks((run,), frozenset({"run_1"})),
        "events": {"run_1": TRAIL},
        "keys": {"key_1": "eff_1"},
        "differences": (),
        "troubles": (),
        "seconds_total": 30.0,
    }
    return report(**{**given, **changes})


def test_equal_books_are_proof() -> None:
    assert found().proven


@pytest.mark.parametrize(
    "changes",
    [
        {"differences": (Difference("doubled refund", "re_2", "of effect eff_1"),)},
        {"troubles": ("chaos1 run_1: no answer",)},
    ],
    ids=["difference", "trouble"],
)
def test_anything_else_is_none(changes: dict[str, Any]) -> None:
    assert not found(**changes).proven


def test_the_longest_wait_is_from_the_fault_at_a_write_to_what_became_of_it() -> None:
    faults = (
        Happened(FaultKind.REFUND_KILL, 4_000, "key_1"),
        Happened(FaultKind.REFUND_DROP, 11_000, "key_1"),
        Happened(FaultKind.WORKER_KILL, 500),
    )

    assert found(happened=faults).longest_seconds_from_fault_to_found_out == 8.0


@pytest.mark.parametrize(("restarted_at_ms", "seconds"), [(2_000, 18.0), (500, 0.0), (21_000, 0.0)])
def test_a_restart_is_waited_for_by_the_runs_that_were_open_then(
    restarted_at_ms: int, seconds: float
) -> None:
    restart = Happened(FaultKind.RESTART, restarted_at_ms)

    assert found(happened=(restart,)).longest_seconds_from_restart_to_settled == seconds
