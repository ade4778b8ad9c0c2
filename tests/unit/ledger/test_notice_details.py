"""What a notice does not do: take a step for a person, or ask where nobody can be asked."""

from ledger.transitions import EffectState
from tests.unit.ledger.notices import lands, notified
from tests.unit.ledger.sample import RECEIPT_ID, a_refund
from tests.unit.ledger.situations import mail_rejected, refund_in_conflict
from tests.unit.ledger.support import an_approved_world, given


def test_given_a_conflict_when_a_notice_comes_then_it_stays_a_persons_question() -> None:
    world = refund_in_conflict()
    lands(world)

    assert notified(world)

    assert world.effect().state is EffectState.CONFLICT


def test_given_a_refund_that_was_never_attempted_when_a_notice_comes_then_nobody_is_asked() -> None:
    world = an_approved_world()
    given(world, a_refund())

    assert notified(world)

    assert world.payments.look_ups == 0
    assert world.effect().state is EffectState.PLANNED


def test_given_a_refused_mail_when_a_notice_comes_then_there_is_nobody_to_ask() -> None:
    world = mail_rejected()

    assert notified(world, RECEIPT_ID)

    assert world.effect(RECEIPT_ID).state is EffectState.REJECTED
    assert world.post.look_ups == 0
