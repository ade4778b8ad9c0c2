"""The stores answer random scripts alike, and a difference between them would be seen.

The third one is the simulator's, which shares records in the place of copying them.
"""

from collections.abc import Callable, Iterator
from functools import cache

import pytest

from tests.contract.differential.calls import Side
from tests.contract.differential.play import DifferenceError, Script, play
from tests.contract.differential.scripts import search
from tests.contract.differential.stores import dynamodb_sides, memory_side, shared_side
from tests.contract.differential.tampered import WRONG_STORES
from tests.contract.differential.true_store import Tampered
from tests.contract.differential.wrong_adapter import WRONG_ADAPTERS

# Of ten scripts each, which takes some ten seconds; "python -m tests.contract.differential" plays
# as many as one has time for.
ROUNDS = (1, 2)


@pytest.fixture(scope="module")
def dynamodb() -> Iterator[Callable[[], Side]]:
    """Yield what makes an empty DynamoDB store."""
    with dynamodb_sides() as empty:
        yield empty


@pytest.mark.parametrize("number", ROUNDS)
def test_given_random_scripts_when_every_store_plays_them_then_they_answer_alike(
    dynamodb: Callable[[], Side], number: int
) -> None:
    search(lambda script: play(script, dynamodb(), memory_side(), shared_side()), number)


@pytest.mark.parametrize("wrong", WRONG_STORES)
def test_given_a_store_that_differs_when_the_same_scripts_are_played_then_it_is_found(
    dynamodb: Callable[[], Side], wrong: type[Tampered]
) -> None:
    # Looked for in memory, which is quick, and then shown against DynamoDB.
    script = _first_that_tells(lambda script: play(script, memory_side(), memory_side(wrong)))

    with pytest.raises(DifferenceError):
        play(script, dynamodb(), memory_side(wrong))
    with pytest.raises(DifferenceError):
        play(script, memory_side(), memory_side(), shared_side(wrong))


@pytest.mark.parametrize("name", WRONG_ADAPTERS)
def test_given_a_fault_of_the_adapter_when_the_same_scripts_are_played_then_it_is_found(
    dynamodb: Callable[[], Side], name: str
) -> None:
    with WRONG_ADAPTERS[name]():
        _first_that_tells(lambda script: play(script, dynamodb(), memory_side()))


def _first_that_tells(tells: Callable[[Script], object]) -> Script:
    for script in _scripts():
        try:
            tells(script)
        except DifferenceError:
            return script
    pytest.fail("none of the scripts tells the stores apart")


@cache
def _scripts() -> list[Script]:
    """Return the scripts of the rounds, the shortest first: they show a difference soonest."""
    scripts: list[Script] = []
    for number in ROUNDS:
        search(scripts.append, number)
    return sorted(scripts, key=lambda script: len(script.operations))
