"""The timeline tells events in the ledger's words, by time."""

from pathlib import Path

import pytest
from rich.console import Console

from ledger.event import Actor, Event, EventKind
from ledger.run import Run, RunLedger
from ledger.transitions import RunState
from sandbox.timeline import Moment, Timeline, moment_of
from sandbox.wording import in_words

LEDGER = Path(__file__).parents[3] / "functions" / "ledger"
_STARTED_AT_MS = 1_000_000
_MATCH = "found with our mark, equal in every approved field"
_ACCEPTED = "acceptance is the provider's last word"
_NO_ANSWER = "no answer of its worker is on record"


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


def test_event_without_words_of_its_own_is_told_with_its_move_and_reason(run: RunLedger) -> None:
    moment = moment_of(run, _event(1, EventKind.EFFECT_CONFLICT, "conflict"))

    assert moment.sentence == "effect conflict  attempting → conflict  reason 1"


@pytest.mark.parametrize("kind", EventKind)
@pytest.mark.parametrize("name", ["", "cancel_renewal", "account_confirmed"])
def test_every_event_has_words(kind: EventKind, name: str) -> None:
    sentence = in_words(_event(1, kind, "unknown"), name)

    assert sentence
    assert "{" not in sentence
    assert "_" not in sentence


@pytest.mark.parametrize(
    ("kind", "state", "reason"),
    [
        (EventKind.EFFECT_CONFIRMED, "confirmed", _MATCH),
        (EventKind.EFFECT_CONFIRMED, "confirmed", _ACCEPTED),
        (EventKind.EFFECT_UNKNOWN, "unknown", _NO_ANSWER),
        (EventKind.EFFECT_CLAIMED, "attempting", "attempt 1 under key generation 1"),
        (EventKind.EXECUTION_RESUMED, "", "the execution asked where the run stands"),
    ],
)
def test_what_the_demo_shows_is_plain_and_fits_the_line(
    kind: EventKind, state: str, reason: str
) -> None:
    event = _event(1, kind, state).model_copy(update={"reason": reason})

    sentence = in_words(event, "cancel_renewal")

    assert reason not in sentence
    assert len(sentence) <= 80


def test_the_reasons_that_are_put_in_plain_words_are_those_of_the_ledger() -> None:
    sources = "".join(path.read_text() for path in LEDGER.glob("*.py"))

    assert all(f'"{reason}"' in sources for reason in (_MATCH, _ACCEPTED, _NO_ANSWER))


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
