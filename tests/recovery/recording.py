"""The calls of one undisturbed run, in their order."""

from functools import cache

from tests.recovery.tap import Call
from tests.recovery.world import World


@cache
def recorded_calls() -> tuple[Call, ...]:
    """Return every call that an undisturbed run makes through its ports."""
    world = World()
    world.run()
    return tuple(world.tap.calls)
