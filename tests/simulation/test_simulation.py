"""Seeds of the simulation, and that it is what it says: exact, honest, and wide."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.simulation import quiet
from tests.simulation.check import Violation
from tests.simulation.deploys import Deploy
from tests.simulation.faults import Fault
from tests.simulation.machine import machine
from tests.simulation.scenarios import Scenario, all_kinds, scenario_of, scenarios
from tests.simulation.shrink import failure_of, shrink
from tests.simulation.summary import Tally
from tests.simulation.world import World
from workflows.registry import CURRENT, REGISTRY

FIRST_SEED = 1
BLOCKS = 40
BLOCK_SEEDS = 500  # some four seconds: small enough to be spread over the workers evenly


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with quiet.many_schedules():
        yield


@pytest.mark.parametrize("block", range(BLOCKS))
def test_no_schedule_violates_an_invariant(block: int) -> None:
    tally = Tally()
    for seed in range(FIRST_SEED + block * BLOCK_SEEDS, FIRST_SEED + (block + 1) * BLOCK_SEEDS):
        tally.run(seed)
    assert not tally.violations, f"python -m tests.simulation --replay {min(tally.violations)}"
    completed = sum(many for end, many in tally.outcomes.items() if end.endswith(": completed"))
    assert completed > BLOCK_SEEDS // 2, "too few schedules get anywhere"


def test_every_registered_version_is_played_as_often_as_its_share_says() -> None:
    seeds = 4_000
    played = Counter(scenario_of(seed).definition.version for seed in range(1, seeds))
    assert set(played) == set(REGISTRY)
    whole = sum(one.share for one in scenarios().values())
    for version, one in scenarios().items():
        assert played[version] == pytest.approx(seeds * one.share / whole, rel=0.15)


def test_nothing_but_its_scenario_names_a_workflow() -> None:
    names = {spelt for name in CURRENT for spelt in (name, name.replace("-", "_"))}
    for path in Path(__file__).parent.glob("*.py"):
        named = {name for name in names if name in path.read_text()}
        assert not named, f"{path.name} names {named}"


@pytest.mark.parametrize("seed", range(1, 60, 7))
def test_a_seed_replays_exactly_whatever_keeps_the_records(seed: int) -> None:
    traces = []
    for copies in (False, False, True):
        world = World(seed, traced=True, copies=copies)
        world.run()
        traces.append(world.trace)
    assert traces[0] == traces[1], "the same seed took another course"
    assert traces[0] == traces[2], "a store that shares its records is not true to one that copies"


def test_every_kind_of_fault_strikes_and_every_kind_of_end_is_reached() -> None:
    tally = Tally()
    kinds = (*all_kinds(), *Deploy)
    # The rarest kind strikes about once in as many seeds as are played at least.
    for seed in range(1, 16_001):
        tally.run(seed)
        if seed >= 2_000 and len(tally.faults) == len(kinds):
            break
    never = [kind for kind in kinds if not tally.faults[kind.value]]
    assert not never, f"never injected: {never}"
    for version in scenarios():
        ends = {end.partition(": ")[2] for end in tally.outcomes if end.startswith(version)}
        assert {"completed", "closed"} <= ends
        reviews = [end for end in ends if end.startswith("review")]
        assert len(reviews) >= 8, f"{version}: few kinds of review: {reviews}"


@pytest.mark.parametrize("scenario", scenarios().values(), ids=scenarios())
def test_every_site_has_a_place_where_it_may_be_frequent(scenario: Scenario) -> None:
    assert {site for place in scenario.places for site in place} == set(scenario.sites)


def test_whatever_may_strike_any_workflow_strikes_some() -> None:
    assert set(Fault) <= set(all_kinds())


def test_a_fault_that_is_left_out_is_not_injected_and_the_rest_of_that_process_is() -> None:
    seed = next(seed for seed in range(1, 100) if len(_injected(seed)) >= 3)
    first, *_ = _injected(seed)
    world = World(seed, dropped=frozenset({first}))
    world.run()
    assert first not in [name for name, _ in world.plan.injected]


def _injected(seed: int) -> list[str]:
    world = World(seed)
    world.run()
    return [name for name, _ in world.plan.injected]


def test_a_seed_without_faults_completes() -> None:
    names = Counter[str]()
    for seed in range(1, 300):
        if not _injected(seed):
            world = World(seed)
            world.run()
            states = {str(ledger.run.state) for ledger in world.check.runs()}
            assert states == {"completed"}, seed
            names[world.scenario.definition.version] += 1
    assert set(names) == set(scenarios())


def test_a_failing_seed_is_made_small(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse_stalls(world: World) -> None:
        if any(kind is Fault.STALL for _, kind in world.plan.injected):
            raise Violation("stalls", "somebody was frozen")

    monkeypatch.setattr(World, "count_step", refuse_stalls)
    seed = next(
        seed
        for seed in range(1, 2_000)
        if failure_of(seed, traced=False) and len(_injected_until_it_fails(seed)) >= 4
    )
    before = _injected_until_it_fails(seed)
    smallest = shrink(seed)
    assert smallest is not None
    left = _injected_until_it_fails(seed, smallest.dropped)
    assert len(left) < len(before)
    for name in left:
        dropped = smallest.dropped | {name}
        assert failure_of(seed, dropped) is None, f"{name} was not needed"
    assert any(Fault.STALL.value in line for line in smallest.trace)


def _injected_until_it_fails(seed: int, dropped: frozenset[str] = frozenset()) -> list[str]:
    world = World(seed, dropped)
    with pytest.raises(Violation):
        world.run()
    return [name for name, _ in world.plan.injected]


@pytest.mark.parametrize("scenario", scenarios().values(), ids=scenarios())
def test_the_tables_of_a_state_machine_leave_nothing_out(scenario: Scenario) -> None:
    states = machine(scenario.definition).states
    assert {state.kind for state in states.values()} == {
        "Task",
        "Choice",
        "Wait",
        "Succeed",
        "Fail",
    }
    for state in states.values():
        following = {state.following, *state.choices.values()} | {
            caught for _, caught in state.catchers
        }
        assert following - {""} <= set(states), state
        if state.kind == "Task":
            assert state.timeout_ms, state
            assert state.retriers, state
