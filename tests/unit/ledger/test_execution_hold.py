"""Runs that were held back alike once are not held back alike the next time."""

from collections import defaultdict
from itertools import pairwise

from ledger.execution import FIRST_HOLD_SECONDS, FIRST_REPLACEMENT, HOLD_FACTOR, hold_seconds

RUNS = 3 * FIRST_HOLD_SECONDS  # more than there are seconds to begin in, so that many share one


def test_given_runs_that_came_back_together_when_held_back_again_then_they_do_not() -> None:
    # Given runs whose second replacements began in the same second.
    together: defaultdict[int, list[str]] = defaultdict(list)
    for run_id in (f"run_{number}" for number in range(RUNS)):
        together[hold_seconds(run_id, FIRST_REPLACEMENT + 1)].append(run_id)

    # When each of them is replaced once more.
    later = [
        [hold_seconds(run_id, FIRST_REPLACEMENT + 2) for run_id in runs]
        for runs in together.values()
    ]

    # Then most of them begin further apart than if one draw were stretched to the longer hold.
    apart = [abs(one - other) for holds in later for one, other in pairwise(holds)]
    assert sum(seconds > HOLD_FACTOR for seconds in apart) > len(apart) // 2
