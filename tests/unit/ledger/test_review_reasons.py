"""What a reviewer is shown is about this review: its reasons, its records, what is known now."""

import pytest

from ledger.answer import keep_late_result
from ledger.draft import Draft
from ledger.errors import EffectPending, ReviewRequired
from ledger.event import EventKind
from ledger.provider import Authority, RecordStatus
from ledger.task import Task
from ledger.transitions import EffectState, RunState
from tests.unit.ledger.desk import RESUME, act, facts_of
from tests.unit.ledger.notices import fails_later, lands, notified
from tests.unit.ledger.sample import BOUND, CARD_DECLINED, RUN_ID, a_record
from tests.unit.ledger.scripted_provider import Step
from tests.unit.ledger.support import World, an_approved_world, an_unknown_world

OF_A_COLLEAGUE = a_record(record_id="re_9", mark=None, fields={**BOUND, "amount_minor": 6000})


def no(reason: str) -> Authority:
    return Authority(allowed=False, reason=reason, snapshot={})


def shown(world: World) -> list[str]:
    """Return the records that a reviewer is shown beside the refund."""
    return [found.record_id for found in facts_of(world).effects[0].candidates]


def in_review(world: World) -> World:
    world.change(lambda draft: draft.send_to_review("a person asked"))
    return world


def a_late_answer(world: World) -> None:
    """Let a worker that was given up say that its first call made a record."""
    record = world.payments.record(world.payments.calls[0], RecordStatus.DONE, {})

    def decide(draft: Draft) -> None:
        (refund,) = draft.ledger.effects
        keep_late_result(draft, refund, refund.attempts[-1], record)

    world.change(decide)


def test_what_stood_in_the_way_once_is_not_shown_beside_another_reason() -> None:
    world = an_approved_world()
    world.payments.held = [OF_A_COLLEAGUE]
    world.payments.allowed = no("1900 of the 7900 are left")
    with pytest.raises(ReviewRequired):
        world.perform()
    assert shown(world) == ["re_9"]
    world.payments.held = []
    world.payments.allowed = no("the charge is disputed")

    act(world, RESUME)
    task = Task(run_id=RUN_ID, epoch=world.run().epoch)
    world.resume(task)
    with pytest.raises(ReviewRequired):
        world.perform("refund", task)

    assert world.run().review_reason == "refund is not allowed: the charge is disputed"
    assert shown(world) == []
    assert world.payments.calls == []


def test_what_may_have_explained_a_refusal_is_not_shown_beside_the_proof() -> None:
    world = an_approved_world()
    world.payments.held = [OF_A_COLLEAGUE]
    world.payments.script = [Step(None, CARD_DECLINED)]
    with pytest.raises(ReviewRequired):
        world.perform()
    assert shown(world) == ["re_9"]

    lands(world)
    notified(world)

    assert world.effect().state is EffectState.CONFIRMED
    assert shown(world) == []


def test_an_absence_that_was_proven_in_a_review_is_found_out_until_it_is_in_doubt_again() -> None:
    world = in_review(an_unknown_world())
    world.prove_absence()
    assert facts_of(world).settled_in_review == ("Refund",)

    a_late_answer(world)

    assert world.effect().state is EffectState.UNKNOWN
    assert facts_of(world).settled_in_review == ()


def test_a_proof_that_is_taken_back_in_the_same_review_is_no_longer_found_out_and_says_why() -> (
    None
):
    world = in_review(an_unknown_world(made=RecordStatus.DONE))
    world.reconcile()
    assert facts_of(world).settled_in_review == ("Refund",)

    fails_later(world)
    notified(world)

    facts = facts_of(world)
    assert world.effect().state is EffectState.CONTRADICTED
    assert facts.settled_in_review == ()
    assert facts.review_reason == "a person asked"
    assert facts.review_also == ("refund was confirmed, and now: the provider says failed",)
    asked = [event for event in world.events if event.kind == EventKind.REVIEW_REQUIRED]
    assert [event.reason for event in asked] == [facts.review_reason, *facts.review_also]


def test_a_refusal_that_was_found_in_a_review_is_found_out_and_says_why() -> None:
    world = an_approved_world()
    world.payments.script = [Step(RecordStatus.PENDING)]
    with pytest.raises(EffectPending):
        world.perform()
    in_review(world)

    fails_later(world)
    world.reconcile()

    assert world.effect().state is EffectState.REJECTED
    assert facts_of(world).settled_in_review == ("Refund",)
    assert facts_of(world).review_also == ("refund: the provider says failed",)


def test_what_was_found_out_before_a_review_began_is_not_found_out_in_it() -> None:
    world = an_unknown_world(made=RecordStatus.DONE)
    world.reconcile()

    in_review(world)

    assert world.run().state is RunState.REVIEW
    assert facts_of(world).settled_in_review == ()
