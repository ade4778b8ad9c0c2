"""One tick of the sweeper: bounded, fair, and not stopped by one bad run."""

from ledger.transitions import EffectState, RunState
from reconciler.sweeper import MAX_RUNS_PER_TICK, MIN_REMAINING_MS, nominated, sweep
from tests.builders import a_change, a_run
from tests.fakes.clock import FakeTimeLeft
from tests.unit.ledger.support import World, an_unknown_world, given, wait_until_due

PLENTY_MS = 60_000


def a_tick(world: World, remaining_ms: int = PLENTY_MS) -> FakeTimeLeft:
    return FakeTimeLeft(world.clock, world.clock.now_ms() + remaining_ms)


def more_due_runs(world: World, count: int) -> None:
    for number in range(count):
        world.store.commit(
            a_change(
                f"commit-{number}",
                run=a_run(
                    run_id=f"run_extra{number}",
                    state=RunState.REVIEW,
                    due_at_ms=world.clock.now_ms(),
                ),
            )
        )


def test_a_run_that_cannot_be_swept_stops_nobody_behind_it() -> None:
    world = an_unknown_world()
    given(world, world.effect().model_copy(update={"provider": "a provider that is gone"}))
    wait_until_due(world)
    more_due_runs(world, 20)

    results = sweep(world.ports, a_tick(world))

    assert results["failed"] == 1
    assert results.total() == 21
    assert world.effect().state is EffectState.UNKNOWN


def test_a_tick_takes_no_more_runs_than_it_can_look_after() -> None:
    world = an_unknown_world()
    wait_until_due(world)
    more_due_runs(world, MAX_RUNS_PER_TICK + 30)

    assert len(list(nominated(world.ports))) == MAX_RUNS_PER_TICK


def test_no_run_is_begun_when_the_tick_is_nearly_over() -> None:
    world = an_unknown_world()
    wait_until_due(world)

    results = sweep(world.ports, a_tick(world, MIN_REMAINING_MS - 1))

    assert dict(results) == {"left_for_next_tick": 1}
    assert world.payments.look_ups == 0


def test_no_shard_is_always_the_last_one() -> None:
    world = an_unknown_world()
    wait_until_due(world)
    more_due_runs(world, 40)
    first_served = set()

    for _ in range(len(world.store.due_shards)):
        first_served.add(next(iter(nominated(world.ports))))
        world.clock.move_to(world.clock.now_ms() + 60_000)

    assert len(first_served) > 1
