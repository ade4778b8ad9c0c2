"""What was taken back, or may have been, while its owner was read is contradicted by nothing."""

from collections.abc import Callable

import pytest

from ledger.provider import RecordStatus
from ledger.recheck import recheck_confirmed
from tests.unit.ledger.sample import OPERATOR, RUN_ID
from tests.unit.ledger.support import World
from tests.unit.ledger.version_situations import counter_effect_unknown, refund_taken_back


@pytest.mark.parametrize("situation", [refund_taken_back, counter_effect_unknown])
def test_given_what_was_or_may_be_taken_back_when_its_end_is_read_then_nothing_is_written(
    situation: Callable[[], World],
) -> None:
    world = situation()
    world.payments.held[:] = [
        found.model_copy(update={"status": RecordStatus.FAILED}) for found in world.payments.held
    ]
    before, trail = world.ledger, world.events

    assert not recheck_confirmed(world.ports, RUN_ID, world.effect(), OPERATOR)

    assert (world.ledger, world.events) == (before, trail)
