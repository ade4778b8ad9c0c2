"""What makes many schedules fast changes nothing about any of them."""

import pytest

from tests.simulation import quiet
from tests.simulation.world import World


@pytest.mark.parametrize("seed", range(1, 200, 13))
def test_given_a_seed_when_played_quietly_or_not_then_it_takes_the_same_course(seed: int) -> None:
    plain = trace_of(seed)

    with quiet.many_schedules():
        quietly = trace_of(seed)
        again = trace_of(seed)

    assert quietly == plain
    assert again == plain, "what is remembered of one schedule shows in another"


def trace_of(seed: int) -> list[str]:
    """Return what happens in a seed."""
    world = World(seed, traced=True)
    world.run()
    assert world.trace
    return world.trace
