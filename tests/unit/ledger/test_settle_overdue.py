"""A review that ends by itself waits until nothing is overdue any more."""

import pytest

from ledger.draft import Draft
from ledger.settle import settle_confirmed
from ledger.transitions import EffectState, RunState
from tests.unit.ledger.sample import a_record, a_refund
from tests.unit.ledger.support import an_approved_world, given


@pytest.mark.parametrize(
    ("overdue", "state"), [(True, RunState.REVIEW), (False, RunState.ACTIVE)], ids=str
)
def test_given_two_writes_in_doubt_when_one_is_proven_then_the_other_decides_about_the_review(
    *, overdue: bool, state: RunState
) -> None:
    world = an_approved_world()
    other = a_refund(EffectState.UNKNOWN, effect_id="eff_b", operation="other", overdue=overdue)
    given(world, a_refund(EffectState.UNKNOWN, overdue=True), other)
    world.change(lambda draft: draft.send_to_review("overdue", recovers=True))

    def proven(draft: Draft) -> None:
        settle_confirmed(draft, world.effect(), a_record(), "found")

    world.change(proven)

    assert world.run().state is state
