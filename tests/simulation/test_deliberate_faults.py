"""A simulation is worth what it sees: each deliberate fault in the engine is found by its rule."""

from collections.abc import Iterator

import pytest

from tests.simulation import quiet
from tests.simulation.mutants import MUTANTS
from tests.simulation.shrink import failure_of

MAX_SEEDS = 12_000  # the rarest shows about once in a thousand


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with quiet.many_schedules():
        yield


@pytest.mark.parametrize("name", MUTANTS)
def test_a_deliberate_fault_is_seen(name: str) -> None:
    mutant = MUTANTS[name]
    with mutant.change():
        for seed in range(mutant.first, mutant.first + MAX_SEEDS):
            failure = failure_of(seed, focus=mutant.focus, traced=False)
            if failure is not None and failure.violation.rule in mutant.rules:
                break
        else:
            pytest.fail(f"{name!r} is not seen in {MAX_SEEDS} seeds")
    unchanged = failure_of(seed, focus=mutant.focus, traced=False)
    assert unchanged is None, "the same seed fails without the fault, too"


def test_there_are_enough_of_them() -> None:
    assert len(MUTANTS) >= 20
