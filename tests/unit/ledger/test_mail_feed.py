"""A mail that came back had gone out: its event proves the one, and says the other."""

import pytest

from ledger.answer import keep_late_result
from ledger.draft import Draft
from ledger.errors import EffectUnknown
from ledger.event import EventKind
from ledger.transitions import EffectState, RunState
from tests.unit.ledger.desk import AGAIN, SENT, act, facts_of, go_on, offer, packet, told
from tests.unit.ledger.notices import a_mail, came_back
from tests.unit.ledger.sample import NO_ANSWER, RECEIPT_ID
from tests.unit.ledger.scripted_provider import Step
from tests.unit.ledger.support import World, an_approved_world, given


def of_the_mail(world: World) -> list[str]:
    """Return what happened to the mail, in order."""
    return [event.kind for event in world.events if event.subject == RECEIPT_ID]


def a_world_whose_mail_lost_its_answer() -> World:
    world = an_approved_world()
    world.perform()
    world.post.script = [Step(None, NO_ANSWER)]
    with pytest.raises(EffectUnknown):
        world.perform("receipt")
    return world


def test_a_bounce_counts_although_the_acceptance_lies_unused_as_a_late_result() -> None:
    world = an_approved_world()
    world.perform()
    world.post.during_call = lambda: given(world, epoch=2)  # the worker is fenced in mid-call
    with pytest.raises(EffectUnknown):
        world.perform("receipt")
    assert world.effect(RECEIPT_ID).state is EffectState.ATTEMPTING
    assert len(world.effect(RECEIPT_ID).late_results) == 1

    assert came_back(world)

    assert world.effect(RECEIPT_ID).state is EffectState.CONTRADICTED
    assert world.kinds.count(EventKind.LATE_RESULT_RECORDED) == 1
    assert world.run().state is RunState.REVIEW
    assert world.run().review_reason == "receipt was confirmed, and now: the provider says bounced"
    assert told(world).effects[1].status == "being reviewed"
    assert "receipt email is contradicted by the provider" in packet(world).summary


def test_a_bounce_after_a_crash_between_keeping_an_event_and_using_it_counts() -> None:
    world = a_world_whose_mail_lost_its_answer()

    def keep(draft: Draft) -> None:
        mail = draft.ledger.require_effect(RECEIPT_ID)
        keep_late_result(draft, mail, mail.attempts[-1], a_mail(world))

    world.change(keep)
    assert world.effect(RECEIPT_ID).state is EffectState.UNKNOWN

    assert came_back(world)

    assert world.effect(RECEIPT_ID).state is EffectState.CONTRADICTED
    assert world.run().state is RunState.REVIEW


@pytest.mark.parametrize("says", ["bounced", "complained of"])
def test_a_mail_in_doubt_that_came_back_is_proven_sent_and_never_told_as_refused(says: str) -> None:
    world = a_world_whose_mail_lost_its_answer()

    assert came_back(world, says)

    assert of_the_mail(world)[-3:] == [
        EventKind.LATE_RESULT_RECORDED,
        EventKind.EFFECT_CONFIRMED,
        EventKind.EFFECT_CONTRADICTED,
    ]
    assert EventKind.EFFECT_REJECTED not in world.kinds
    mail = world.effect(RECEIPT_ID)
    assert mail.state is EffectState.CONTRADICTED
    assert mail.evidence is not None
    assert mail.evidence.record_id == "post_1"
    assert world.run().review_reason == f"receipt was confirmed, and now: the provider says {says}"
    assert told(world).effects[1].status == "being reviewed"
    assert "The receipt was handed to the mail service." not in told(world).proven
    assert "receipt email is contradicted by the provider" in packet(world).summary
    assert facts_of(world).effects[1].state is EffectState.CONTRADICTED


@pytest.mark.parametrize("says", ["bounced", "complained of"])
def test_a_mail_that_came_back_can_be_left_at_that_without_sending_another(says: str) -> None:
    world = a_world_whose_mail_lost_its_answer()
    came_back(world, says)

    assert offer(world, AGAIN, RECEIPT_ID).allowed
    assert offer(world, SENT, RECEIPT_ID).allowed
    assert offer(world, SENT, RECEIPT_ID).refused_because == ""
    act(world, SENT, RECEIPT_ID)
    go_on(world)

    assert world.run().state is RunState.COMPLETED
    assert len(world.post.calls) == 1


def test_an_event_that_is_delivered_again_undoes_no_decision_that_was_made_about_it() -> None:
    world = a_world_whose_mail_lost_its_answer()
    came_back(world)
    act(world, SENT, RECEIPT_ID)
    go_on(world)
    before = world.events

    assert came_back(world)

    assert world.events == before
    assert world.run().state is RunState.COMPLETED
    assert came_back(world, "complained of")  # this one is news
    assert world.run().state is RunState.REVIEW
