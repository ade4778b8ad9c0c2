"""A counter-effect is made only of what is still shown as ours, read again before its claim."""

import pytest

from ledger.errors import ReviewRequired
from ledger.task import Task
from tests.unit.ledger.sample import RUN_ID
from tests.unit.ledger.test_counter import agreed, made


def test_given_a_record_without_the_mark_of_what_it_undoes_then_it_is_not_taken_back() -> None:
    world = agreed()
    task = Task(run_id=RUN_ID, epoch=world.run().epoch)
    world.payments.held[:] = [
        found.model_copy(update={"mark": None}) for found in world.payments.held
    ]

    with pytest.raises(ReviewRequired, match=r"take_back: .* the mark of refund.*nothing was sent"):
        world.perform("take_back", task)

    assert made(world) == 0
