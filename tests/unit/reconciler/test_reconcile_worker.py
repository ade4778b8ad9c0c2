"""A worker and its messages: each only nominates, so none can do harm or stop another."""

import json
from io import StringIO
from typing import Any

import pytest

from ledger.errors import LedgerUnavailable
from ledger.event import EventKind
from ledger.ports import ExecutionStatus, Ports
from ledger.run import RunLedger
from ledger.sweep import SweepResult
from ledger.transitions import EffectState, RunState
from reconciler import reconcile_worker
from reconciler.reconcile_worker import LEFT_FOR_NEXT_TICK, MIN_REMAINING_MS, look_after, work
from reconciler.sweeper import nominate
from runtime.metric_names import RUNS_BROKEN
from tests.builders import a_change, a_run
from tests.fakes.clock import FakeTimeLeft
from tests.fakes.nominations import MAX_RECEIVE_COUNT, FakeNominations
from tests.recovery.logs import log_into
from tests.unit.ledger.sample import NO_ANSWER, RUN_ID
from tests.unit.ledger.support import World, an_unknown_world, given, wait_until_due

PLENTY_MS = 60_000


class Died(BaseException):
    """The process is gone."""


def left(world: World, remaining_ms: int = PLENTY_MS) -> FakeTimeLeft:
    return FakeTimeLeft(world.clock, world.clock.now_ms() + remaining_ms)


def a_due_world() -> World:
    """Return a world whose one run is due: its refund is unknown and its execution is gone."""
    world = an_unknown_world()
    world.executions.statuses[f"{RUN_ID}-e1"] = ExecutionStatus.ENDED
    wait_until_due(world)
    return world


def more_due_runs(world: World, count: int) -> list[str]:
    """Return the ids of further due runs, which wait for a person."""
    run_ids = [f"run_extra{number}" for number in range(count)]
    for run_id in run_ids:
        run = a_run(run_id=run_id, state=RunState.REVIEW, due_at_ms=world.clock.now_ms())
        world.store.commit(a_change(f"of-{run_id}", run=run))
    return run_ids


def tick(world: World, queue: FakeNominations) -> None:
    nominate(world.store, world.clock, queue, left(world))


def deliver(world: World, queue: FakeNominations, ports: Ports | None = None) -> None:
    """Hand everything that waits to workers."""
    wired = ports or world.ports
    queue.deliver(lambda batch: work(batch, lambda run_id: look_after(wired, left(world), run_id)))


def looks(world: World, run_id: str = RUN_ID) -> int:
    """Return how often a run was claimed for a look."""
    events = world.store.events(run_id, 0, 1000)
    return [event.kind for event in events].count(EventKind.SWEEP_CLAIMED)


def cannot_be_read(world: World, monkeypatch: pytest.MonkeyPatch, run_id: str) -> None:
    """Poison one record, from now on."""
    load = world.store.load

    def broken(wanted: str) -> RunLedger | None:
        if wanted == run_id:
            raise ValueError("a stored record of zebra.lovelace@marker.example")
        return load(wanted)

    monkeypatch.setattr(world.store, "load", broken)


def test_given_a_named_run_when_a_worker_comes_then_it_is_looked_after() -> None:
    world, queue = a_due_world(), FakeNominations()
    tick(world, queue)

    deliver(world, queue)

    assert looks(world) == 1
    assert world.run().epoch == 2
    assert queue.waiting == queue.dead == []


def test_given_overlapping_ticks_when_both_are_worked_off_then_the_run_was_looked_after_once() -> (
    None
):
    world, queue = a_due_world(), FakeNominations()
    tick(world, queue)
    tick(world, queue)

    deliver(world, queue)

    assert looks(world) == world.payments.look_ups == 1
    assert world.run().epoch == 2


def test_given_a_message_that_comes_twice_when_worked_off_then_the_second_changes_nothing() -> None:
    world, queue = a_due_world(), FakeNominations()
    tick(world, queue)
    queue.put_again()
    deliver(world, queue)
    before = world.events

    queue.put([RUN_ID])
    deliver(world, queue)

    assert looks(world) == world.payments.look_ups == 1
    assert world.events == before


def test_given_two_workers_with_one_message_each_when_they_meet_then_one_looks() -> None:
    world, queue = a_due_world(), FakeNominations()
    tick(world, queue)
    twin = FakeNominations()
    tick(world, twin)
    world.store.rivals = [lambda: deliver(world, twin)]

    deliver(world, queue)

    assert looks(world) == world.payments.look_ups == 1
    assert world.executions.starts.count(f"{RUN_ID}-e2") == 1


@pytest.mark.parametrize("state", [RunState.COMPLETED, RunState.CLOSED])
def test_given_a_stale_index_that_names_an_ended_run_when_worked_off_then_nothing_is_written(
    state: RunState,
) -> None:
    world, queue = a_due_world(), FakeNominations()
    tick(world, queue)
    given(world, state=state)
    before = world.events

    deliver(world, queue)

    assert world.events == before
    assert queue.waiting == []


def test_given_a_stale_index_that_names_a_run_swept_since_when_worked_off_then_it_rests() -> None:
    world, queue = a_due_world(), FakeNominations()
    tick(world, queue)
    world.sweep()
    before = world.events

    deliver(world, queue)

    assert world.events == before


def test_given_one_poisoned_record_when_a_batch_is_worked_off_then_all_others_are_done(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world, queue = a_due_world(), FakeNominations()
    others = more_due_runs(world, 9)
    cannot_be_read(world, monkeypatch, RUN_ID)
    tick(world, queue)
    assert len(queue.waiting) == 10

    deliver(world, queue)

    assert [found.body for found in queue.waiting] == [RUN_ID]
    assert [looks(world, run_id) for run_id in others] == [1] * 9


def test_given_a_record_that_stays_poisoned_when_tried_often_then_a_person_gets_its_message(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world, queue = a_due_world(), FakeNominations()
    cannot_be_read(world, monkeypatch, RUN_ID)
    tick(world, queue)

    for _ in range(MAX_RECEIVE_COUNT):
        assert queue.dead == []
        deliver(world, queue)

    assert [found.body for found in queue.dead] == [RUN_ID]
    assert queue.waiting == []


def test_given_a_run_that_breaks_once_claimed_when_named_again_then_the_break_was_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world, queue = a_due_world(), FakeNominations()
    counted: list[str] = []
    monkeypatch.setattr(
        reconcile_worker, "measure", lambda metric, value: counted.extend([metric.name] * value)
    )

    def broken(_workflow: str, _execution_name: str) -> ExecutionStatus:
        raise PermissionError

    monkeypatch.setattr(world.executions, "status", broken)
    tick(world, queue)

    deliver(world, queue)
    deliver(world, queue)

    assert looks(world) == 1
    assert queue.waiting == queue.dead == []
    assert counted == [RUNS_BROKEN.name]


def test_given_a_batch_of_nothing_but_poison_when_worked_off_then_it_is_given_back_not_raised(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world, queue = a_due_world(), FakeNominations()
    cannot_be_read(world, monkeypatch, RUN_ID)
    tick(world, queue)

    deliver(world, queue)

    assert queue.given_back == [RUN_ID]


def test_given_a_broken_run_when_it_is_logged_then_neither_log_nor_library_quotes_what_broke(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    world, queue = a_due_world(), FakeNominations()
    cannot_be_read(world, monkeypatch, RUN_ID)
    tick(world, queue)
    lines = StringIO()

    with caplog.at_level("DEBUG"), log_into(lines):
        deliver(world, queue)

    broke, *_ = [json.loads(text) for text in lines.getvalue().splitlines()]
    assert (broke["error"], broke["run_id"], broke["level"]) == ("ValueError", RUN_ID, "ERROR")
    assert "zebra" not in lines.getvalue() + caplog.text


def test_given_a_message_of_somebody_else_when_it_comes_then_it_is_given_back_and_not_quoted() -> (
    None
):
    world, queue = a_due_world(), FakeNominations()
    queue.put(['{"to": "zebra.lovelace@marker.example"}'])
    lines = StringIO()

    with log_into(lines):
        deliver(world, queue)

    assert len(queue.waiting) == 1
    assert "zebra" not in lines.getvalue()


def test_given_a_system_without_an_answer_when_tried_then_the_message_goes_and_the_run_is_due() -> (
    None
):
    """An outage of hours must not fill the dead-letter queue: the next tick is the retry."""
    world, queue = a_due_world(), FakeNominations()
    tick(world, queue)
    world.store.failure = LedgerUnavailable("no answer")

    deliver(world, queue)

    assert queue.waiting == queue.dead == []
    world.store.failure = None
    tick(world, queue)
    deliver(world, queue)
    assert world.effect().state is EffectState.UNKNOWN
    assert looks(world) == 1


def test_given_a_provider_that_cannot_be_read_when_tried_then_it_waits_longer_each_time() -> None:
    world, queue = a_due_world(), FakeNominations()
    world.payments.read_fault = NO_ANSWER
    waits = []
    for _ in range(8):
        wait_until_due(world)
        tick(world, queue)
        deliver(world, queue)
        waits.append((world.run().due_at_ms or 0) - world.clock.now_ms())

    assert world.effect().state is EffectState.UNKNOWN
    assert queue.dead == []
    assert waits[-1] > waits[0]


@pytest.mark.parametrize("survivors", range(4))
def test_given_a_worker_killed_in_mid_batch_when_its_messages_come_again_then_each_was_done_once(
    survivors: int,
) -> None:
    world, queue = World(), FakeNominations()
    run_ids = more_due_runs(world, 4)
    tick(world, queue)
    done: list[str] = []

    def dies(batch: dict[str, Any]) -> dict[str, Any] | None:
        def look(run_id: str) -> str:
            if len(done) == survivors:
                raise Died
            done.append(run_id)
            return look_after(world.ports, left(world), run_id)

        try:
            return work(batch, look)
        except Died:
            return None

    queue.deliver(dies)
    assert len(queue.waiting) == 4
    deliver(world, queue)

    assert len(done) == survivors
    assert [looks(world, run_id) for run_id in run_ids] == [1] * 4
    assert queue.waiting == []


def test_given_little_time_left_when_a_message_comes_then_it_is_not_begun_and_the_run_is_due() -> (
    None
):
    world = a_due_world()
    before = world.events

    result = look_after(world.ports, left(world, MIN_REMAINING_MS - 1), RUN_ID)

    assert result == LEFT_FOR_NEXT_TICK
    assert world.events == before


def test_given_a_run_to_look_after_when_done_then_the_log_says_what_came_of_it() -> None:
    world, queue = a_due_world(), FakeNominations()
    tick(world, queue)
    lines = StringIO()

    with log_into(lines):
        deliver(world, queue)

    (line,) = [json.loads(text) for text in lines.getvalue().splitlines()]
    assert (line["run_id"], line["outcome"]) == (RUN_ID, SweepResult.REPLACED)


def test_given_an_event_that_is_no_batch_when_it_comes_then_it_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(reconcile_worker, "ports", lambda: World().ports)

    with pytest.raises(Exception, match="BatchTypeError; see the log"):
        reconcile_worker.handler({}, None)  # type: ignore[arg-type]
