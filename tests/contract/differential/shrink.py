"""Make a script that tells the stores apart short enough to be read."""

from collections.abc import Callable
from dataclasses import replace

from tests.contract.differential.play import DifferenceError, Script

MAX_PLAYS = 200  # half a minute against DynamoDB; most scripts are short after fewer


def shortest(first: DifferenceError, play: Callable[[Script], object]) -> DifferenceError:
    """Return a difference after as few operations as were found to lead to one.

    Leaves out more and more of the operations, in smaller and smaller pieces.
    """
    best = first
    left = MAX_PLAYS
    piece = len(best.script.operations)
    while piece > 1 and left > 0:
        piece = (piece + 1) // 2
        start = 0
        while start < len(best.script.operations) and left > 0:
            left -= 1
            operations = best.script.operations
            shorter = (*operations[:start], *operations[start + piece :])
            try:
                play(replace(best.script, operations=shorter))
            except DifferenceError as found:
                best = found
            else:
                start += piece
    return best
