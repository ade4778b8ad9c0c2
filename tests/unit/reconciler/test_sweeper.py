"""One tick of the sweeper names what is due: bounded, fair, and twice if need be."""

import pytest

from ledger.errors import RetryLater
from ledger.store import LedgerStore
from ledger.transitions import RunState
from reconciler.sweeper import (
    MAX_RUNS_PER_TICK,
    MIN_REMAINING_MS,
    PAGE_SIZE_RUNS,
    Tick,
    due_pages,
    nominate,
)
from tests.builders import a_change, a_run
from tests.fakes.clock import FakeTimeLeft
from tests.fakes.nominations import FakeNominations
from tests.unit.ledger.support import World

PLENTY_MS = 60_000


class ReadsNothingElse:
    """A store of which only the index of due runs can be read."""

    def __init__(self, store: LedgerStore) -> None:
        self.due_shards = store.due_shards
        self.due = store.due


def a_tick(world: World, queue: FakeNominations, remaining_ms: int = PLENTY_MS) -> Tick:
    left = FakeTimeLeft(world.clock, world.clock.now_ms() + remaining_ms)
    store: LedgerStore = ReadsNothingElse(world.store)  # type: ignore[assignment]
    return nominate(store, world.clock, queue, left)


def a_world_with(due: int, later: int = 0) -> World:
    """Return a world with so many runs that are due, and so many that are not."""
    world = World()
    for number in range(due + later):
        due_at_ms = world.clock.now_ms() + (0 if number < due else 1)
        run = a_run(run_id=f"run_extra{number}", state=RunState.REVIEW, due_at_ms=due_at_ms)
        world.store.commit(a_change(f"commit-{number}", run=run))
    return world


def test_given_due_runs_when_a_tick_comes_then_each_is_named_once_and_no_other() -> None:
    world = a_world_with(due=25, later=10)
    queue = FakeNominations()

    assert a_tick(world, queue) == Tick(due=25, queued=25)
    assert sorted(found.body for found in queue.waiting) == sorted(
        f"run_extra{number}" for number in range(25)
    )


def test_given_nothing_due_when_a_tick_comes_then_no_message_is_sent() -> None:
    queue = FakeNominations()

    assert a_tick(a_world_with(due=0, later=10), queue) == Tick(0, 0)
    assert queue.waiting == []


def test_given_more_than_a_tick_may_take_when_it_comes_then_it_stops_at_its_bound() -> None:
    world = a_world_with(due=MAX_RUNS_PER_TICK + 30)

    assert a_tick(world, FakeNominations()).due == MAX_RUNS_PER_TICK


def test_given_a_page_that_took_long_when_little_time_is_left_then_no_other_is_begun() -> None:
    world = a_world_with(due=2 * PAGE_SIZE_RUNS)
    queue = FakeNominations()

    tick = a_tick(world, queue, MIN_REMAINING_MS - 1)

    assert 0 < tick.due < 2 * PAGE_SIZE_RUNS
    assert tick.due == len(queue.waiting)


def test_given_a_queue_that_does_not_take_all_when_a_tick_ends_then_the_rest_is_still_due() -> None:
    world = a_world_with(due=5)
    queue = FakeNominations(takes=0)

    assert a_tick(world, queue) == Tick(due=5, queued=0)
    queue.takes = None
    assert a_tick(world, queue) == Tick(due=5, queued=5)


def test_given_a_queue_without_an_answer_when_a_tick_comes_then_it_fails_and_the_next_does_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = a_world_with(due=5)
    queue = FakeNominations()

    def no_answer(_run_ids: object) -> int:
        raise RetryLater("no answer")

    with monkeypatch.context() as patch:
        patch.setattr(queue, "put", no_answer)
        with pytest.raises(RetryLater):
            a_tick(world, queue)

    assert a_tick(world, queue).queued == 5


def test_given_shards_that_are_always_full_when_ticks_pass_then_none_is_always_the_last() -> None:
    world = a_world_with(due=60)
    first_served = set()

    for _ in range(len(world.store.due_shards)):
        first_served.add(next(due_pages(world.store, world.clock.now_ms())))
        world.clock.move_to(world.clock.now_ms() + 60_000)

    assert len(first_served) == len(world.store.due_shards)
