"""A counter-effect that was released stays: runs may hold one, and their facts are told by it."""

import pytest

from workflows.counters import COUNTERS

RELEASED = {("cancel-refund@4", "resume_renewal", "renewal_resumed")}
"""Version, operation and checkpoint of each. What is released is added here, and never taken out
before its version is."""


@pytest.mark.parametrize(("version", "operation", "checkpoint"), sorted(RELEASED))
def test_a_released_counter_effect_has_not_vanished(
    version: str, operation: str, checkpoint: str
) -> None:
    found = {counter.operation.name: counter for counter in COUNTERS[version]}

    assert found[operation].operation.checkpoint == checkpoint
    assert found[operation].contract.checkpoint == checkpoint


def test_every_counter_effect_is_kept_from_vanishing() -> None:
    known = {
        (version, counter.operation.name, counter.operation.checkpoint)
        for version, counters in COUNTERS.items()
        for counter in counters
    }

    assert known == RELEASED
