"""What a committed change says in numbers, and that measuring changes nothing of it."""

from dataclasses import replace
from io import StringIO
from typing import Any

import pytest

from adapters.memory_store import MemoryStore
from ledger.attempt import AttemptOutcome
from ledger.errors import LedgerMoved
from ledger.event import EventKind
from ledger.provider import RecordStatus
from ledger.run import RunLedger
from ledger.store import Change
from ledger.sweep import sweep_run
from ledger.transitions import EffectState, RunState
from runtime.measured_store import MeasuredStore, values_of
from runtime.metric_names import (
    APPROVALS_OVERDUE,
    CONTRADICTED_EFFECTS,
    MANUAL_INTERVENTIONS,
    RECOVERY_ATTEMPTS,
    RESTART_TO_RECONCILED,
    REVIEWS_REQUIRED,
    Metric,
)
from tests.builders import NOW_MS, RUN_ID, a_change, a_run, an_attempt, an_effect, an_event
from tests.recovery.logs import log_into
from tests.unit.ledger.support import an_unknown_world, wait_until_due

Told = list[tuple[str, float]]


def a_moved(effect: Any, kind: EventKind, prior: str, state: str, at_ms: int) -> Change:
    event = an_event(
        kind=kind,
        subject=effect.effect_id,
        prior_state=prior,
        state=state,
        at_ms=at_ms,
        sequence=2,
        commit_id="commit-2",
    )
    moved = effect.model_copy(update={"state": EffectState(state)})
    return a_change("commit-2", 1, effects=(moved,), events=(event,))


def before(*effects: Any, **run: Any) -> RunLedger:
    return RunLedger(run=a_run(sequence=1, **run), effects=effects)


@pytest.mark.parametrize(
    ("kind", "metric"),
    [
        (EventKind.APPROVAL_LAPSED, APPROVALS_OVERDUE),
        (EventKind.EFFECT_CONTRADICTED, CONTRADICTED_EFFECTS),
        (EventKind.OPERATOR_ACTED, MANUAL_INTERVENTIONS),
        (EventKind.REVIEW_REQUIRED, REVIEWS_REQUIRED),
    ],
)
def test_an_event_that_matters_to_people_counts_once(kind: EventKind, metric: Metric) -> None:
    events = (an_event(kind=kind), an_event(kind=EventKind.RECONCILE_READ, sequence=2))
    change = a_change(event_count=2, events=events)

    assert [(found.metric.name, found.value) for found in values_of(change, None)] == [
        (metric.name, 1)
    ]


def test_a_lost_answer_that_was_found_tells_how_long_it_was_lost() -> None:
    lost = an_effect(state=EffectState.UNKNOWN, unsettled_since_ms=NOW_MS, attempts=(an_attempt(),))
    change = a_moved(lost, EventKind.EFFECT_CONFIRMED, "unknown", "confirmed", NOW_MS + 42_500)

    assert [*values_of(change, before(lost))] == [(RESTART_TO_RECONCILED, 42.5)]


def test_a_worker_that_died_is_counted_from_its_claim() -> None:
    claimed = an_effect(
        state=EffectState.ATTEMPTING, attempts=(an_attempt(claimed_at_ms=NOW_MS - 30_000),)
    )
    change = a_moved(claimed, EventKind.EFFECT_CONFIRMED, "unknown", "confirmed", NOW_MS)

    assert [*values_of(change, before(claimed))] == [(RESTART_TO_RECONCILED, 30)]


@pytest.mark.parametrize(
    ("prior", "state", "kind"),
    [
        ("accepted", "confirmed", EventKind.EFFECT_CONFIRMED),  # never lost
        ("attempting", "accepted", EventKind.EFFECT_ACCEPTED),  # its own worker heard
        ("unknown", "unknown", EventKind.RECONCILE_READ),  # still lost
        ("conflict", "unknown", EventKind.EFFECT_UNKNOWN),  # looked at again
    ],
)
def test_what_was_not_lost_or_not_found_tells_no_time(
    prior: str, state: str, kind: EventKind
) -> None:
    effect = an_effect(
        state=EffectState(prior), unsettled_since_ms=NOW_MS, attempts=(an_attempt(),)
    )
    change = a_moved(effect, kind, prior, state, NOW_MS + 1_000)

    assert [*values_of(change, before(effect))] == []


def test_of_two_lost_answers_the_one_that_was_found_is_timed() -> None:
    lost = an_effect(state=EffectState.UNKNOWN, unsettled_since_ms=NOW_MS, attempts=(an_attempt(),))
    other = lost.model_copy(update={"effect_id": "effect-2", "unsettled_since_ms": NOW_MS - 1})
    found = a_moved(lost, EventKind.EFFECT_CONFIRMED, "unknown", "confirmed", NOW_MS + 2_000)
    change = replace(found, effects=(*found.effects, other))

    assert [*values_of(change, before(lost, other))] == [(RESTART_TO_RECONCILED, 2)]


class TestWhatAChangeIsComparedWith:
    """A change is decided on what was read just before it; anything else says nothing of it."""

    LOST = an_effect(state=EffectState.UNKNOWN, unsettled_since_ms=NOW_MS, attempts=(an_attempt(),))
    FOUND = a_moved(LOST, EventKind.EFFECT_CONFIRMED, "unknown", "confirmed", NOW_MS + 2_000)

    def given(self) -> tuple[MemoryStore, MeasuredStore, Told]:
        told: Told = []
        inner = MemoryStore()
        inner.commit(a_change(effects=(self.LOST,)))
        return (
            inner,
            MeasuredStore(inner, lambda metric, value: told.append((metric.name, value))),
            told,
        )

    def test_the_run_as_it_was_read(self) -> None:
        _, store, told = self.given()
        store.load(RUN_ID)
        store.commit(self.FOUND)

        assert told == [(RESTART_TO_RECONCILED.name, 2)]

    def test_another_run_that_was_read_says_nothing(self) -> None:
        inner, store, told = self.given()
        inner.commit(a_change("other", run=a_run(run_id="run-2"), effects=(self.LOST,)))
        store.load("run-2")
        store.commit(self.FOUND)

        assert told == []

    def test_an_older_reading_says_nothing(self) -> None:
        inner, store, told = self.given()
        store.load(RUN_ID)
        inner.commit(a_change("between", 1, events=(an_event(sequence=2, commit_id="between"),)))
        event = self.FOUND.events[0].model_copy(update={"sequence": 3})
        store.commit(a_change("commit-2", 2, effects=self.FOUND.effects, events=(event,)))

        assert told == []


def test_a_run_that_ends_tells_how_often_it_had_to_be_brought_back() -> None:
    looked_up = an_effect(attempts=(an_attempt(outcome=AttemptOutcome.FOUND),))
    smooth = an_effect(
        effect_id="effect-2", attempts=(an_attempt(outcome=AttemptOutcome.ACCEPTED),)
    )
    run = a_run(state=RunState.COMPLETED, epoch=3)
    event = an_event(kind=EventKind.RUN_COMPLETED, sequence=2, commit_id="commit-2")
    change = a_change("commit-2", 1, run=run, events=(event,))

    assert [*values_of(change, before(looked_up, smooth))] == [(RECOVERY_ATTEMPTS, 3)]


def test_a_run_that_ends_at_the_first_go_says_zero() -> None:
    change = a_change(events=(an_event(kind=EventKind.RUN_COMPLETED),))

    assert [*values_of(change, None)] == [(RECOVERY_ATTEMPTS, 0)]


def test_a_refund_lost_by_its_worker_and_found_by_the_sweeper_is_measured() -> None:
    """The whole way: what the sweeper commits through the measured store is what is told."""
    told: Told = []
    world = an_unknown_world(made=RecordStatus.DONE)
    lost_at_ms = world.effect().unsettled_since_ms
    store = MeasuredStore(world.store, lambda metric, value: told.append((metric.name, value)))
    wait_until_due(world)

    sweep_run(world.ports_over(store), world.run().run_id)

    assert world.effect().state is EffectState.CONFIRMED
    assert lost_at_ms is not None
    waited_seconds = (world.clock.now_ms() - lost_at_ms) / 1000
    assert told == [(RESTART_TO_RECONCILED.name, waited_seconds)]
    assert waited_seconds > 0


def test_a_change_that_was_not_written_is_not_counted() -> None:
    told: Told = []
    store = MeasuredStore(MemoryStore(), lambda metric, value: told.append((metric.name, value)))
    store.commit(a_change())

    with pytest.raises(LedgerMoved):
        store.commit(a_change("other", events=(an_event(commit_id="other"),)))

    assert told == []


def test_a_change_that_cannot_be_measured_stands() -> None:
    def broken(_metric: Metric, _value: float) -> None:
        raise RuntimeError("no number")

    inner, lines = MemoryStore(), StringIO()
    with log_into(lines):
        MeasuredStore(inner, broken).commit(
            a_change(events=(an_event(kind=EventKind.OPERATOR_ACTED),))
        )

    assert inner.load(RUN_ID) is not None
    assert "a change was not measured" in lines.getvalue()
