"""How many effects are unknown for too long is counted over all of them, not over what is due."""

from collections.abc import Iterator

import pytest

from adapters.memory_store import MemoryStore
from ledger.effect import Effect
from ledger.errors import InvariantBroken
from ledger.run import RunLedger
from ledger.store import DuePage
from ledger.transitions import EffectState, RunState
from reconciler import census as census_module
from reconciler.census import HORIZON_SECONDS, Census, report, take_census
from runtime import metrics
from tests.builders import a_change, a_run, an_attempt, an_effect
from tests.fakes.clock import FakeTimeLeft
from tests.unit.ledger.support import World, an_unknown_world, given

PLENTY_MS = 60_000


@pytest.fixture(autouse=True)
def _nothing_measured() -> Iterator[None]:
    metrics._unsaid.clear()
    yield
    metrics._unsaid.clear()


def a_census(world: World, remaining_ms: int = PLENTY_MS) -> Census:
    left = FakeTimeLeft(world.clock, world.clock.now_ms() + remaining_ms)
    return take_census(world.store, world.clock, left)


def another_run(
    world: World, name: str, *effects: Effect, state: RunState = RunState.ACTIVE
) -> None:
    run = a_run(run_id=name, state=state, due_at_ms=world.clock.now_ms())
    world.store.commit(a_change(f"of {name}", run=run, effects=effects))


def measured() -> dict[str, float]:
    return {found.metric.name: found.value for found in metrics._unsaid}


def test_an_unknown_effect_within_its_deadline_has_an_age_and_is_not_overdue() -> None:
    world = an_unknown_world()
    since_ms = world.effect().unsettled_since_ms or 0

    counted = a_census(world)

    assert counted.past_deadline == 0
    assert counted.oldest_age_seconds == (world.clock.now_ms() - since_ms) / 1000
    assert (counted.runs, counted.complete) == (1, True)


def test_an_unknown_effect_past_its_deadline_is_counted_once() -> None:
    world = an_unknown_world()
    world.pass_seconds(world.effect().recovery_deadline_seconds + 1)

    assert a_census(world).past_deadline == 1


def test_an_effect_is_counted_between_two_looks_of_the_sweeper_as_well() -> None:
    """The sweeper comes back after hours; the census sees the run whether or not it is due."""
    world = an_unknown_world()
    world.pass_seconds(world.effect().recovery_deadline_seconds + 1)
    given(world, world.effect().model_copy(update={"reconcile_reads": 12}))
    due_at_ms = world.run().due_at_ms
    assert due_at_ms is not None
    assert due_at_ms - world.clock.now_ms() > 3600 * 1000

    assert a_census(world).past_deadline == 1


@pytest.mark.parametrize("recovers", [True, False])
@pytest.mark.parametrize("reads", [0, 5, 30])
def test_every_run_with_an_unknown_effect_is_due_within_the_horizon(
    recovers: bool, reads: int
) -> None:
    world = an_unknown_world()
    given(
        world,
        world.effect().model_copy(update={"reconcile_reads": reads}),
        state=RunState.REVIEW,
        review_recovers=recovers,
        review_since_ms=world.clock.now_ms(),
    )
    due_at_ms = world.run().due_at_ms

    assert due_at_ms is not None
    assert due_at_ms <= world.clock.now_ms() + HORIZON_SECONDS * 1000
    assert a_census(world).runs == 1


def test_a_claim_that_lapsed_is_as_unknown_as_one_that_was_written_down() -> None:
    world = World()
    now_ms = world.clock.now_ms()
    claimed = an_attempt(claimed_at_ms=now_ms - 90_000, lease_until_ms=now_ms - 30_000)
    lapsed = an_effect(state=EffectState.ATTEMPTING, attempts=(claimed,))
    another_run(world, "run_lapsed", lapsed)

    assert a_census(world).oldest_age_seconds == 90


def test_a_worker_that_may_still_be_inside_its_call_is_not_counted() -> None:
    world = World()
    now_ms = world.clock.now_ms()
    live = an_attempt(claimed_at_ms=now_ms - 20_000, lease_until_ms=now_ms + 30_000)
    another_run(world, "run_live", an_effect(state=EffectState.ATTEMPTING, attempts=(live,)))

    assert a_census(world).oldest_age_seconds == 0


def test_the_oldest_counts_and_a_run_that_was_closed_does_not() -> None:
    world = World()
    now_ms = world.clock.now_ms()

    def unknown(seconds: int) -> Effect:
        return an_effect(
            state=EffectState.UNKNOWN,
            unsettled_since_ms=now_ms - seconds * 1000,
            attempts=(an_attempt(),),
            recovery_deadline_seconds=60,
        )

    another_run(world, "run_a", unknown(30))
    another_run(world, "run_b", unknown(300))
    another_run(world, "run_c", unknown(9_000), state=RunState.CLOSED)

    counted = a_census(world)

    assert (counted.oldest_age_seconds, counted.past_deadline) == (300, 1)


class NamesTwice(MemoryStore):
    """A store whose index names each run twice: it moved on while the index was read."""

    def due(self, shard: str, now_ms: int, limit: int, cursor: str | None) -> DuePage:
        page = super().due(shard, now_ms, limit, cursor)
        return DuePage(run_ids=page.run_ids * 2, cursor=page.cursor)


def test_a_run_that_is_named_twice_is_counted_once() -> None:
    world, store = World(), NamesTwice()
    now_ms = world.clock.now_ms()
    unknown = an_effect(
        state=EffectState.UNKNOWN,
        unsettled_since_ms=now_ms - 90_000,
        attempts=(an_attempt(),),
        recovery_deadline_seconds=60,
    )
    store.commit(a_change(run=a_run(due_at_ms=now_ms), effects=(unknown,)))

    counted = take_census(store, world.clock, FakeTimeLeft(world.clock, now_ms + PLENTY_MS))

    assert (counted.runs, counted.past_deadline) == (1, 1)


def test_more_runs_than_can_be_read_are_said_to_be_incomplete(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(census_module, "MAX_RUNS", 3)
    world = World()
    for number in range(4):
        another_run(world, f"run_{number}")

    assert not a_census(world).complete


def test_a_census_without_time_says_that_it_is_incomplete() -> None:
    world = an_unknown_world()

    assert not a_census(world, 0).complete


def test_when_nothing_is_unknown_zero_is_said() -> None:
    report(a_census(World()))

    assert measured() == {
        "UnknownEffectsPastDeadline": 0,
        "OldestUnknownAgeSeconds": 0,
        "RunsCounted": 0,
    }


def test_an_incomplete_census_says_what_it_found_and_never_zero() -> None:
    report(Census(runs=3, past_deadline=2, oldest_age_seconds=0.0, complete=False))

    assert measured() == {"UnknownEffectsPastDeadline": 2}


class DamagedStore(MemoryStore):
    """A store in which one run cannot be read."""

    def load(self, run_id: str) -> RunLedger | None:
        if run_id == "run_damaged":
            raise InvariantBroken("A record is damaged, or newer than this code.")
        return super().load(run_id)


def test_a_run_that_cannot_be_read_hides_no_other_and_is_not_taken_for_settled() -> None:
    world, store = World(), DamagedStore()
    now_ms = world.clock.now_ms()
    unknown = an_effect(
        state=EffectState.UNKNOWN,
        unsettled_since_ms=now_ms - 90_000,
        attempts=(an_attempt(),),
        recovery_deadline_seconds=60,
    )
    for name in ("run_damaged", "run_1", "run_2", "run_3"):
        run = a_run(run_id=name, due_at_ms=now_ms)
        store.commit(a_change(f"of {name}", run=run, effects=(unknown,)))

    counted = take_census(store, world.clock, FakeTimeLeft(world.clock, now_ms + PLENTY_MS))

    assert (counted.past_deadline, counted.unreadable, counted.complete) == (3, 1, False)
