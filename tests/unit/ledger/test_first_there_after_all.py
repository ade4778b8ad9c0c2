"""A refund that was refused is there after all, while a second one is intended in its place."""

import pytest

from ledger.draft import Draft
from ledger.errors import EffectUnknown, ProviderUnavailable, ReviewRequired
from ledger.provider import Authority
from ledger.settle import reopen_unknown
from ledger.task import Task
from ledger.transitions import EffectState, RunState
from tests.unit.ledger.desk import ASK, RECONCILE, RESUME, act, facts_of, go_on, offer, packet, told
from tests.unit.ledger.notices import lands, notified
from tests.unit.ledger.sample import BOUND, CARD_DECLINED, NEVER_SENT, REFUND_ID
from tests.unit.ledger.scripted_provider import Step
from tests.unit.ledger.situations import fresh_approval_granted, fresh_approval_pending
from tests.unit.ledger.support import World

RETRY_PAUSE_SECONDS = 60


def task_of(world: World) -> Task:
    """Return the task of the execution that owns the run."""
    return Task(run_id=world.run().run_id, epoch=world.run().epoch)


def a_world_about_to_pay() -> World:
    """Return a world whose second refund is planned; its request never left."""
    world = fresh_approval_granted()
    world.resume(task_of(world))
    world.payments.script = [Step(None, NEVER_SENT)]
    with pytest.raises(ProviderUnavailable):
        world.perform("refund", task_of(world))
    world.pass_seconds(RETRY_PAUSE_SECONDS)
    return world


def doubt_the_first(world: World) -> None:
    """Let something say that the first refund may exist after all."""

    def decide(draft: Draft) -> None:
        reopen_unknown(draft, draft.ledger.require_effect(REFUND_ID), "it may exist after all")

    world.change(decide)


def paid(world: World) -> list[str]:
    """Return the refunds that the provider holds."""
    return [found.record_id for found in world.payments.held]


def test_no_second_refund_is_sent_once_the_first_is_there_and_the_run_goes_on_with_that() -> None:
    world = a_world_about_to_pay()
    lands(world)
    assert notified(world)
    assert world.run().state is RunState.ACTIVE

    effect = world.perform("refund", task_of(world))
    go_on(world)

    assert (effect.effect_id, effect.state) == (REFUND_ID, EffectState.CONFIRMED)
    assert paid(world) == ["re_late"]
    assert world.run().state is RunState.COMPLETED
    assert [call.bound["refund_id"] for call in world.post.calls] == ["re_late"]
    assert [found.record_id for found in told(world).effects] == ["re_late", "post_1"]
    assert packet(world).summary == (
        "Refund re_late for USD 79.00 is confirmed; receipt email post_1 is confirmed."
    )
    shown = [(found.instance, found.state, found.over) for found in facts_of(world).effects[:2]]
    assert shown == [(1, EffectState.CONFIRMED, False), (2, EffectState.PLANNED, True)]


def test_no_second_refund_is_sent_while_the_first_may_be_there() -> None:
    world = a_world_about_to_pay()
    calls = len(world.payments.calls)

    doubt_the_first(world)
    with pytest.raises(EffectUnknown, match="read first"):
        world.perform("refund", task_of(world))

    assert len(world.payments.calls) == calls
    assert world.run().state is RunState.ACTIVE
    world.prove_absence()
    world.perform("refund", task_of(world))
    assert len(world.payments.calls) == calls + 1


def test_what_the_first_may_have_taken_is_not_read_as_a_reason_against_the_second() -> None:
    world = a_world_about_to_pay()
    doubt_the_first(world)
    world.payments.allowed = Authority(allowed=False, reason="0 of 7900 left", snapshot={})

    with pytest.raises(EffectUnknown, match="read first"):
        world.perform("refund", task_of(world))

    assert world.run().state is RunState.ACTIVE


def test_no_second_refund_is_sent_when_the_first_comes_into_doubt_while_authority_is_read() -> None:
    world = a_world_about_to_pay()
    calls = len(world.payments.calls)

    def doubted() -> None:
        world.payments.during_authority = None
        doubt_the_first(world)

    world.payments.during_authority = doubted
    with pytest.raises(EffectUnknown, match="read first"):
        world.perform("refund", task_of(world))

    assert len(world.payments.calls) == calls


def test_no_second_refund_is_sent_when_the_first_shows_while_authority_is_read() -> None:
    world = a_world_about_to_pay()
    calls = len(world.payments.calls)

    def shows() -> None:
        world.payments.during_authority = None
        lands(world)
        notified(world)

    world.payments.during_authority = shows
    with pytest.raises(EffectUnknown):
        world.perform("refund", task_of(world))

    assert len(world.payments.calls) == calls
    go_on(world)
    assert paid(world) == ["re_late"]
    assert world.run().state is RunState.COMPLETED


def test_no_second_refund_is_sent_beside_a_first_that_differs_before_a_person_has_looked() -> None:
    world = a_world_about_to_pay()
    calls = len(world.payments.calls)
    lands(world, amount_minor=790)
    notified(world)
    assert world.effect().state is EffectState.CONFLICT
    assert world.run().state is RunState.REVIEW

    with pytest.raises(ReviewRequired):
        world.perform("refund", task_of(world))

    assert len(world.payments.calls) == calls
    assert offer(world, RECONCILE).allowed
    world.payments.held = [world.payments.held[0].model_copy(update={"fields": BOUND})]
    act(world, RECONCILE)
    assert world.effect().state is EffectState.CONFIRMED


def test_a_customer_who_is_asked_anew_is_asked_no_more_once_the_first_is_there() -> None:
    world = fresh_approval_pending()

    lands(world)
    assert notified(world)

    assert world.run().state is RunState.ACTIVE
    assert told(world).approval is None
    go_on(world)
    assert world.run().state is RunState.COMPLETED
    assert paid(world) == ["re_late"]
    assert len(world.payments.calls) == 1


def test_a_second_refusal_beside_a_first_that_is_there_stands_in_nobodys_way() -> None:
    world = fresh_approval_granted()
    task = task_of(world)
    world.resume(task)
    world.payments.script = [Step(None, CARD_DECLINED)]
    with pytest.raises(ReviewRequired):
        world.perform("refund", task)
    lands(world)
    notified(world)

    assert not offer(world, ASK).allowed
    assert offer(world, RESUME).consequence.writes == ("Receipt email",)
    act(world, RESUME)
    go_on(world)

    assert world.run().state is RunState.COMPLETED
    assert len(world.payments.calls) == 2
    assert len(world.post.calls) == 1
