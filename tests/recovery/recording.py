"""The calls of one undisturbed run, in their order."""

from functools import cache

from tests.recovery.scenarios import Scenario, usual
from tests.recovery.tap import Call
from tests.recovery.world import World


@cache
def recorded_calls(scenario: Scenario | None = None) -> tuple[Call, ...]:
    """Return every call that an undisturbed run makes through its ports."""
    world = World(scenario=scenario or usual())
    world.run()
    return tuple(world.tap.calls)
