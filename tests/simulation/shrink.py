"""Make a failing seed small: leave faults out as long as it still fails."""

from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum

from tests.simulation.check import Violation
from tests.simulation.world import World

MAX_RERUNS = 300  # a second or two; a trace with one fault too many is still a good trace


@dataclass(frozen=True)
class Failure:
    """What a seed did, and which of its faults can be left out."""

    seed: int
    dropped: frozenset[str]
    violation: Violation
    trace: tuple[str, ...]


def failure_of(
    seed: int,
    dropped: frozenset[str] = frozenset(),
    focus: frozenset[StrEnum] = frozenset(),
    *,
    traced: bool = True,
) -> Failure | None:
    """Return how a seed fails, None when nothing is violated."""
    world = World(seed, dropped, focus, traced=traced)
    try:
        world.run()
    except Violation as violation:
        return Failure(seed, dropped, violation, tuple(world.trace or ()))
    return None


def shrink(seed: int, reruns: int = MAX_RERUNS) -> Failure | None:
    """Return the smallest failure found of the same rule, None when the seed does not fail."""
    smallest = failure_of(seed)
    if smallest is None:
        return None
    left = _injected(seed, smallest.dropped)
    size = max(1, len(left) // 2)
    while reruns > 0 and left:
        kept_all = True
        for start in range(0, len(left), size):
            reruns -= 1
            tried = smallest.dropped | frozenset(left[start : start + size])
            again = failure_of(seed, tried)
            if again is not None and again.violation.rule == smallest.violation.rule:
                smallest, kept_all = again, False
                break
        if not kept_all:
            left = _injected(seed, smallest.dropped)
            size = max(1, min(size, len(left)))
        elif size == 1:
            break
        else:
            size //= 2
    return smallest


def _injected(seed: int, dropped: frozenset[str]) -> list[str]:
    """Return the names of the faults that a run with ``dropped`` left out injects."""
    world = World(seed, dropped)
    with suppress(Violation):
        world.run()
    return [name for name, _ in world.plan.injected]
