"""A yes covers each write that is still to be made, and a yes to taking back has its own name."""

from ledger.transitions import RunState
from tests.unit.ledger.sample import APPROVAL_LIFETIME_SECONDS
from tests.unit.ledger.test_counter import offered_back, refunded


def test_given_one_write_done_and_the_yes_to_the_next_expired_then_it_is_asked_for_anew() -> None:
    world = refunded()
    world.pass_seconds(APPROVAL_LIFETIME_SECONDS)

    world.ask("token-2")

    assert world.run().state is RunState.AWAITING_APPROVAL
    pending = world.ledger.pending_approval()
    assert pending is not None
    assert set(pending.payload) == {"fee"}


def test_given_a_counter_effect_when_asked_for_then_a_yes_proves_a_claim_named_after_it() -> None:
    pending = offered_back().ledger.pending_approval()

    assert pending is not None
    assert pending.checkpoint == "take_back_approved"
