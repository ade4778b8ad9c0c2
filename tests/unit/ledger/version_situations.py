"""Situations of what was taken back, and of a version that is not the only or no longer there."""

from collections.abc import Callable, Mapping

from ledger.approve import Decision
from ledger.provider import RecordStatus
from ledger.retired import retired_definition
from ledger.transitions import EffectState
from ledger.versions import Versions
from tests.unit.ledger.desk import CLOSE, MOVE, act
from tests.unit.ledger.sample import CARD_DECLINED, NO_ANSWER, REFUND_ID
from tests.unit.ledger.scripted_provider import Step
from tests.unit.ledger.situations import refund_confirmed, refund_unknown
from tests.unit.ledger.support import World, an_approved_world
from tests.unit.ledger.test_counter import agreed, answer, fee_refused, offered_back, tick
from tests.unit.ledger.test_move import REWORDED, in_review, replaced
from tests.unit.ledger.versions import altered, renumbered, with_fee


def counter_effect_offered() -> World:
    """The fee was refused; an operator may offer to take the refund back."""
    return fee_refused()


def counter_effect_asked() -> World:
    """The customer is asked whether the refund is taken back."""
    return offered_back()


def counter_effect_declined() -> World:
    """The customer keeps the refund."""
    world = offered_back()
    answer(world, Decision.DECLINE)
    tick(world)
    return world


def counter_effect_agreed() -> World:
    """The customer has agreed that the refund is taken back; nobody has done it yet."""
    return agreed()


def counter_effect_unknown() -> World:
    """Whether the refund was taken back is not known."""
    world = agreed()
    world.payments.script = [Step(RecordStatus.DONE, NO_ANSWER)]
    tick(world)
    return world


def counter_effect_refused() -> World:
    """The provider did not take the refund back."""
    world = agreed()
    world.payments.script = [Step(None, CARD_DECLINED)]
    tick(world)
    return world


def refund_taken_back() -> World:
    """The refund was taken back, as the customer agreed."""
    world = agreed()
    tick(world)
    assert world.ledger.is_undone(REFUND_ID)
    return world


def refund_taken_back_and_closed() -> World:
    """An operator has closed the run after that."""
    world = refund_taken_back()
    act(world, CLOSE)
    return world


def move_offered() -> World:
    """A newer version is there, to which a migration leads; nothing is done yet."""
    return replaced(in_review(an_approved_world()))


def move_offered_after_the_refund() -> World:
    """The same, with the refund done."""
    return replaced(in_review(refund_confirmed()))


def move_asks_again() -> World:
    """The newer version does something else, so that a move asks the customer anew."""
    more = altered("contracts", 0, with_fee(), evidence_fields=("digest", "decided_by", "place"))
    return replaced(in_review(an_approved_world()), renumbered(definition=more))


def move_does_not_fit() -> World:
    """What is on record does not fit the newer version."""
    other = renumbered(definition=altered("operations", 0, provider="post"))
    return replaced(in_review(refund_confirmed()), other)


def moved() -> World:
    """An operator has moved the run; its new execution has not reported in."""
    world = move_offered_after_the_refund()
    act(world, MOVE)
    world.definition = REWORDED
    return world


def version_retired() -> World:
    """The version is no longer deployed and nothing leads on; the refund is done."""
    world = in_review(refund_confirmed())
    world.definition = retired_definition(world.ledger)
    return world


def version_retired_in_doubt() -> World:
    """The same, with the refund unknown."""
    world = in_review(refund_unknown())
    assert world.effect().state is EffectState.UNKNOWN
    world.definition = retired_definition(world.ledger)
    return world


def version_retired_before_any_write() -> World:
    """The same, with nothing done."""
    world = in_review(an_approved_world())
    world.definition = retired_definition(world.ledger)
    return world


def version_retired_and_replaced() -> World:
    """The version is no longer deployed, and a migration leads on."""
    world = replaced(in_review(refund_confirmed()), deployed_too=False)
    assert world.versions is not None
    world.versions = Versions({REWORDED.version: REWORDED}, world.versions.migrations)
    world.definition = retired_definition(world.ledger)
    return world


VERSION_SITUATIONS: Mapping[str, Callable[[], World]] = {
    found.__name__: found
    for found in (
        counter_effect_offered,
        counter_effect_asked,
        counter_effect_declined,
        counter_effect_agreed,
        counter_effect_unknown,
        counter_effect_refused,
        refund_taken_back,
        refund_taken_back_and_closed,
        move_offered,
        move_offered_after_the_refund,
        move_asks_again,
        move_does_not_fit,
        moved,
        version_retired,
        version_retired_in_doubt,
        version_retired_before_any_write,
        version_retired_and_replaced,
    )
}
