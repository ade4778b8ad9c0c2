"""``python -m tests.contract.differential``: play more rounds than the tests do."""

import argparse
import sys
import time
from pathlib import Path

# The functions' import root, as pytest and Lambda have it.
sys.path.insert(0, str(Path(__file__).parents[3] / "functions"))

from rich.console import Console

from tests.contract.differential.play import DifferenceError, Script, play
from tests.contract.differential.scripts import search
from tests.contract.differential.stores import dynamodb_sides, memory_side, shared_side

FIRST_ROUND = 1_000  # far from the rounds of the tests

console = Console()


def main(arguments: list[str] | None = None) -> int:
    """Return 0 when the stores answered alike, 1 when they did not; that script is shown."""
    parser = argparse.ArgumentParser(prog="python -m tests.contract.differential")
    parser.add_argument("--rounds", type=int, default=100, help="how many, of ten scripts each")
    parser.add_argument("--first", type=int, default=FIRST_ROUND, help="the number of the first")
    asked = parser.parse_args(arguments)
    played: list[tuple[int, int, int]] = []
    started = time.process_time()
    with dynamodb_sides() as empty:

        def play_one(script: Script) -> None:
            alike = play(script, empty(), memory_side(), shared_side())
            played.append((len(script.operations), *alike))

        for number in range(asked.first, asked.first + asked.rounds):
            try:
                search(play_one, number)
            except DifferenceError as difference:
                console.print(f"Round {number}: {difference}", markup=False, highlight=False)
                return 1
    operations, calls, refusals = (sum(counts) for counts in zip(*played, strict=True))
    console.print(
        f"{asked.rounds} rounds, {len(played)} scripts, {operations} operations: {calls} calls "
        f"answered alike, {refusals} of them with an error, "
        f"in {time.process_time() - started:.0f} s of processor time."
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
