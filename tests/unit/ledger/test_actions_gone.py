"""Whose absence stands in the way of an action: of what it needs itself, and of nothing else."""

from ledger.offer import Offer, RecoveryAction
from tests.unit.ledger.situations import refund_in_conflict
from tests.unit.ledger.support import World
from tests.unit.ledger.test_act_details import fee_refused_and_both_can_be_taken_back
from tests.unit.ledger.test_gone import offered, without
from tests.unit.ledger.version_situations import version_retired_and_replaced


def offer_without(world: World, action: RecoveryAction, gone: str) -> Offer:
    """Return the offer as it is once a provider is registered no more."""
    found = offered(world, without(world, gone), world.definition)
    (wanted,) = (offer for offer in found if offer.action is action)
    return wanted


def test_given_a_version_that_is_gone_when_the_new_one_needs_what_is_gone_then_no_move() -> None:
    move = offer_without(version_retired_and_replaced(), RecoveryAction.MOVE, "post")

    assert move.refused_because.startswith("No longer registered: post.")


def test_given_what_only_other_writes_need_is_gone_when_looked_at_then_one_can_be_taken_back() -> (
    None
):
    world = fee_refused_and_both_can_be_taken_back()

    assert offer_without(world, RecoveryAction.OFFER_COUNTER, "post").allowed


def test_given_nobody_is_left_to_be_asked_when_looked_at_then_who_is_gone_is_named() -> None:
    reconcile = offer_without(refund_in_conflict(), RecoveryAction.RECONCILE, "payments")

    assert reconcile.refused_because.startswith("No longer registered: payments.")
