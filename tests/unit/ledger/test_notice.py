"""A notice is never believed: it makes us look, and what we then read is what counts."""

from typing import Any

import pytest

from ledger.contract import FaultKind
from ledger.effect import ATTESTED
from ledger.errors import EffectUnknown, ProviderUnavailable, ReviewRequired
from ledger.event import Actor, EventKind
from ledger.notice import look_again, tell
from ledger.provider import ProviderFault, ProviderRecord, RecordStatus
from ledger.transitions import EffectState, RunState
from tests.unit.ledger.desk import offer
from tests.unit.ledger.sample import (
    CARD_DECLINED,
    LEASE_SECONDS,
    NO_ANSWER,
    RECEIPT_ID,
    RECOVERY_DEADLINE_SECONDS,
    REFUND_ID,
    RUN_ID,
)
from tests.unit.ledger.scripted_provider import Step
from tests.unit.ledger.support import World, a_world, an_approved_world, an_unknown_world

NOTICE = Actor(kind="provider", actor_id="payments")
UNREADABLE = ProviderFault(FaultKind.NO_ANSWER)


def notified(world: World, effect_id: str = REFUND_ID) -> bool:
    return look_again(world.ports, RUN_ID, effect_id, NOTICE)


def told(world: World, **overrides: Any) -> bool:
    return tell(world.ports, RUN_ID, RECEIPT_ID, a_mail(world, **overrides), NOTICE)


def a_mail(world: World, **overrides: Any) -> ProviderRecord:
    return ProviderRecord.model_validate(
        {
            "record_id": "post_1",
            "status": RecordStatus.DONE,
            "provider_status": "send",
            "mark": RECEIPT_ID,
            "fields": world.post.calls[0].bound if world.post.calls else {},
            **overrides,
        }
    )


def a_world_whose_mail_lost_its_answer() -> World:
    world = an_approved_world()
    world.perform()
    world.post.script = [Step(RecordStatus.DONE, NO_ANSWER)]
    with pytest.raises(EffectUnknown):
        world.perform("receipt")
    return world


def it_lands_after_all(world: World) -> None:
    """Let the provider show the record of the first call."""
    (call,) = world.payments.calls
    world.payments.held.append(world.payments.record(call, RecordStatus.DONE, {}))


def test_a_notice_about_nothing_of_ours_changes_nothing() -> None:
    world = a_world()
    before = world.events

    assert not look_again(world.ports, "run_of_nobody", REFUND_ID, NOTICE)
    assert not notified(world, "eff_of_nobody")
    assert not tell(world.ports, RUN_ID, "eff_of_nobody", a_mail(world), NOTICE)

    assert world.events == before


def test_a_notice_settles_an_effect_whose_answer_was_lost() -> None:
    world = an_unknown_world(made=RecordStatus.DONE)

    assert notified(world)

    assert world.effect().state is EffectState.CONFIRMED
    assert world.events[-1].actor == NOTICE


def test_a_notice_while_the_worker_waits_is_confirmed_once_whoever_is_first() -> None:
    world = an_approved_world()

    def notice_comes_first() -> None:
        world.payments.during_call = None
        notified(world)

    world.payments.during_call = notice_comes_first
    effect = world.perform()
    notified(world)
    notified(world)

    assert effect.state is EffectState.CONFIRMED
    assert world.kinds.count(EventKind.EFFECT_CONFIRMED) == 1
    assert len(world.payments.calls) == 1


def test_a_notice_that_is_older_than_what_we_read_takes_no_step_back() -> None:
    world = an_approved_world()
    world.perform()
    before = world.events

    assert notified(world)

    assert world.events == before


def test_a_notice_of_a_refund_that_failed_since_contradicts_it() -> None:
    world = an_approved_world()
    world.perform()
    (made,) = world.payments.held
    world.payments.held = [
        made.model_copy(update={"status": RecordStatus.FAILED, "provider_status": "failed"})
    ]

    assert notified(world)

    assert world.effect().state is EffectState.CONTRADICTED
    assert world.run().state is RunState.REVIEW


@pytest.mark.parametrize("closed", [False, True])
def test_a_record_that_appears_after_a_refusal_reopens_the_question(closed: bool) -> None:
    world = an_approved_world()
    world.payments.script = [Step(None, CARD_DECLINED)]
    with pytest.raises(ReviewRequired):
        world.perform()
    if closed:
        world.change(
            lambda draft: draft.close_run(RunState.CLOSED, EventKind.RUN_CLOSED, "as it is")
        )
    notified(world)
    assert world.effect().state is EffectState.REJECTED

    world.payments.held.append(
        world.payments.record(world.payments.calls[0], RecordStatus.DONE, {})
    )
    assert notified(world)

    assert world.effect().state is EffectState.CONFIRMED
    assert world.run().state is RunState.REVIEW
    assert len(world.payments.calls) == 1


def test_a_record_that_appears_after_its_absence_was_proven_is_not_paid_once_more() -> None:
    world = an_unknown_world()
    world.prove_absence()
    assert world.effect().state is EffectState.PLANNED

    world.payments.held.append(
        world.payments.record(world.payments.calls[0], RecordStatus.DONE, {})
    )
    assert notified(world)

    assert world.effect().state is EffectState.CONFIRMED
    assert world.perform().state is EffectState.CONFIRMED
    assert len(world.payments.calls) == 1


def test_a_record_that_failed_is_no_reason_to_reopen_its_refusal() -> None:
    world = an_approved_world()
    world.payments.script = [Step(RecordStatus.FAILED)]
    with pytest.raises(ReviewRequired):
        world.perform()
    before = world.events

    assert notified(world)

    assert world.effect().state is EffectState.REJECTED
    assert world.events == before


def test_a_notice_that_cannot_be_followed_up_has_to_be_given_again() -> None:
    world = an_approved_world()
    world.perform()
    world.payments.read_fault = UNREADABLE
    before = world.events

    with pytest.raises(ProviderUnavailable):
        notified(world)

    assert world.events == before


def test_a_notice_that_ends_an_overdue_review_lets_the_run_go_on_at_once() -> None:
    world = an_unknown_world(made=RecordStatus.DONE)
    world.payments.read_fault = UNREADABLE
    world.pass_seconds(RECOVERY_DEADLINE_SECONDS)
    world.reconcile()
    assert world.run().state is RunState.REVIEW
    world.payments.read_fault = None

    assert notified(world)

    assert world.run().state is RunState.ACTIVE
    assert world.run().epoch == 2
    assert f"{RUN_ID}-e2" in world.executions.starts


def test_a_mail_whose_answer_was_lost_is_confirmed_by_the_event_of_its_sending() -> None:
    world = a_world_whose_mail_lost_its_answer()

    assert told(world)

    receipt = world.effect(RECEIPT_ID)
    assert receipt.state is EffectState.CONFIRMED
    assert receipt.evidence is not None
    assert receipt.evidence.record_id == "post_1"
    assert len(world.post.calls) == 1


def test_an_event_that_comes_before_the_answer_confirms_the_mail_once() -> None:
    world = an_approved_world()
    world.perform()

    def event_comes_first() -> None:
        world.post.during_call = None
        told(world)

    world.post.during_call = event_comes_first

    receipt = world.perform("receipt")
    told(world, provider_status="delivery")

    assert receipt.state is EffectState.CONFIRMED
    assert world.kinds.count(EventKind.EFFECT_CONFIRMED) == 2  # the refund and the mail
    assert world.run().state is RunState.ACTIVE


def test_a_mail_that_bounced_after_it_was_confirmed_is_contradicted() -> None:
    world = an_approved_world()
    world.perform()
    world.perform("receipt")
    world.resume()

    assert told(world, status=RecordStatus.FAILED, provider_status="bounce")
    told(world, status=RecordStatus.FAILED, provider_status="bounce")

    assert world.effect(RECEIPT_ID).state is EffectState.CONTRADICTED
    assert world.run().state is RunState.REVIEW
    assert world.kinds.count(EventKind.EFFECT_CONTRADICTED) == 1
    assert "receipt was confirmed, and now: the provider says bounce" in world.run().review_reason


def test_a_bounce_of_a_mail_that_an_operator_took_as_sent_contradicts_it() -> None:
    world = a_world_whose_mail_lost_its_answer()
    receipt = world.effect(RECEIPT_ID)
    attested = a_mail(world, record_id=ATTESTED)
    world.pass_seconds(LEASE_SECONDS)
    tell(world.ports, RUN_ID, RECEIPT_ID, attested, NOTICE)
    assert world.effect(RECEIPT_ID).state is EffectState.CONFIRMED

    assert told(world, status=RecordStatus.FAILED, provider_status="bounce")

    assert world.effect(RECEIPT_ID).state is EffectState.CONTRADICTED
    assert receipt.effect_id == RECEIPT_ID


def test_a_bounce_of_a_mail_in_doubt_proves_that_it_went_out_and_came_back() -> None:
    world = a_world_whose_mail_lost_its_answer()

    assert told(world, status=RecordStatus.FAILED, provider_status="bounce")

    assert world.effect(RECEIPT_ID).state is EffectState.CONTRADICTED
    assert world.run().state is RunState.REVIEW
    assert "the provider says bounce" in world.run().review_reason
    assert offer(world, "treat_as_sent", RECEIPT_ID).allowed


def test_an_event_about_an_effect_that_was_never_sent_is_about_something_else() -> None:
    world = an_approved_world()
    world.perform()
    world.post.allowed = world.post.allowed.model_copy(update={"allowed": False})
    with pytest.raises(ReviewRequired):
        world.perform("receipt")
    before = world.events

    told(world)

    assert world.events == before
