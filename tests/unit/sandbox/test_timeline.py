"""The timeline tells events in the ledger's words, by time."""

import pytest
from rich.console import Console

from ledger.event import Actor, Event, EventKind
from ledger.run import Run, RunLedger
from ledger.transitions import RunState
from sandbox.timeline import Moment, Timeline, moment_of

_STARTED_AT_MS = 1_000_000


def _event(sequence: int, kind: EventKind, state: str = "") -> Event:
    return Event(
        run_id="run_1",
        sequence=sequence,
        at_ms=_STARTED_AT_MS + sequence * 1000,
        kind=kind,
        actor=Actor(kind="worker", actor_id="w1"),
        reason=f"reason {sequence}",
        workflow="cancel-refund@4",
        epoch=1,
        commit_id=f"commit_{sequence}",
        subject="effect_1",
        prior_state="attempting",
        state=state,
    )


@pytest.fixture
def run() -> RunLedger:
    return RunLedger(
        run=Run(
            run_id="run_1",
            tenant_id="t1",
            customer_id="cus_1",
            workflow="cancel-refund@4",
            state=RunState.ACTIVE,
            request={},
            request_digest="digest",
            opened_at_ms=_STARTED_AT_MS,
            progress_deadline_seconds=60,
            max_executions=3,
        )
    )


def test_event_is_told_with_its_move_and_reason(run: RunLedger) -> None:
    moment = moment_of(run, _event(1, EventKind.EFFECT_UNKNOWN, "unknown"))

    assert moment.sentence == "effect unknown  attempting → unknown  reason 1"


def test_moments_are_printed_by_time_with_the_seconds_passed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    timeline = Timeline(Console(width=20), _STARTED_AT_MS)

    timeline.show(
        [
            Moment(_STARTED_AT_MS + 2500, "ledger", "a sentence longer than the line is wide"),
            Moment(_STARTED_AT_MS + 1000, "provider", "commits"),
        ]
    )

    first, second = capsys.readouterr().out.splitlines()
    assert first.split() == ["1.00", "s", "provider", "commits"]
    assert second.endswith("a sentence longer than the line is wide")
