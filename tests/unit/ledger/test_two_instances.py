"""Two intended instances of one operation: both are told, and only one is reported."""

from typing import Any

import pytest

from ledger.event import EventKind
from ledger.idempotency import effect_id_for
from ledger.provider import RecordStatus
from ledger.task import Task
from ledger.transitions import EffectState, RunState
from tests.unit.ledger.desk import (
    AGAIN,
    ASK,
    RECONCILE,
    RESUME,
    SENT,
    act,
    facts_of,
    go_on,
    offer,
    offered,
    packet,
    told,
)
from tests.unit.ledger.notices import came_back, closed, fails_later, lands, notified
from tests.unit.ledger.sample import RECEIPT_ID, RUN_ID
from tests.unit.ledger.situations import fresh_approval_granted, fresh_approval_pending
from tests.unit.ledger.support import (
    World,
    an_approved_world,
    an_unknown_world,
    given,
    wait_until_due,
)

SECOND_REFUND_ID = effect_id_for(RUN_ID, "refund", 2)
SECOND_RECEIPT_ID = effect_id_for(RUN_ID, "receipt", 2)
TWICE = "refund was made twice: re_late beside payments_2"


def both_refunds_are_told(world: World) -> bool:
    """Return whether each of the three readers is told of both refunds."""
    facts = [found for found in facts_of(world).effects if found.operation == "refund"]
    records = [found.record_id for found in told(world).effects if found.operation == "refund"]
    summary = packet(world).summary
    assert [(found.state, found.over) for found in facts] == [(EffectState.CONFIRMED, False)] * 2
    assert records == ["re_late", "payments_2"]
    assert summary.startswith(
        "Refund re_late for USD 79.00 is confirmed; refund payments_2 for USD 79.00 is confirmed; "
    )
    return True


def test_a_refused_refund_that_shows_after_a_second_was_paid_is_told_and_reported_by_none() -> None:
    world = fresh_approval_pending()
    go_on(world)
    assert world.run().state is RunState.COMPLETED

    lands(world)
    assert notified(world)

    assert world.run().state is RunState.REVIEW
    assert TWICE in world.run().review_also
    assert both_refunds_are_told(world)
    proven = world.ledger.proven("refund_confirmed")
    assert proven is not None
    assert (proven.effect_id, proven.evidence.record_id) == (SECOND_REFUND_ID, "payments_2")
    act(world, RESUME)
    go_on(world)
    assert world.run().state is RunState.COMPLETED
    assert [call.bound["refund_id"] for call in world.post.calls] == ["payments_2"]
    assert both_refunds_are_told(world)
    assert len(world.payments.calls) == 2


def test_two_refunds_of_a_run_that_is_still_open_stop_it_before_anything_is_reported() -> None:
    world = fresh_approval_granted()
    task = Task(run_id=RUN_ID, epoch=world.run().epoch)
    world.resume(task)
    world.perform("refund", task)
    assert world.run().state is RunState.ACTIVE

    lands(world)
    assert notified(world)

    assert world.run().state is RunState.REVIEW
    assert world.run().review_reason == TWICE
    assert not world.run().review_recovers
    assert both_refunds_are_told(world)
    go_on(world)
    assert world.post.calls == []
    assert world.run().state is RunState.REVIEW


@pytest.mark.parametrize(
    ("records", "state"),
    [
        ([{"amount_minor": 790}], EffectState.CONFLICT),
        ([{}, {"record_id": "re_later"}], EffectState.CONFLICT),
        ([{"status": RecordStatus.PENDING}], EffectState.ACCEPTED),
    ],
    ids=["another amount", "two records", "not finished"],
)
def test_whatever_shows_with_our_mark_after_absence_was_proven_is_brought_to_a_person(
    records: list[dict[str, Any]], state: EffectState
) -> None:
    world = an_unknown_world()
    world.prove_absence()
    closed(world)

    for record in records:
        status = record.get("status", RecordStatus.DONE)
        shown = {name: value for name, value in record.items() if name != "status"}
        lands(world, **shown)
        world.payments.held[-1] = world.payments.held[-1].model_copy(update={"status": status})
    assert notified(world)

    assert world.effect().state is state
    assert world.run().state is RunState.REVIEW
    assert "was not made" not in packet(world).summary.split(";")[0]
    assert len(world.payments.calls) == 1


def a_world_with_two_receipts() -> World:
    """Return a completed run whose first refund failed after its receipt had gone."""
    world = an_approved_world()
    world.perform()
    world.perform("receipt")
    world.resume()
    fails_later(world)
    notified(world)
    act(world, RECONCILE)
    act(world, ASK)
    go_on(world)
    assert world.run().state is RunState.COMPLETED
    assert [call.effect_id for call in world.post.calls] == [RECEIPT_ID, SECOND_RECEIPT_ID]
    return world


def test_a_bounce_of_a_receipt_that_another_has_replaced_is_a_remark_and_stops_nothing() -> None:
    world = a_world_with_two_receipts()
    before = told(world), packet(world).summary

    assert came_back(world)
    came_back(world)

    first = world.effect(RECEIPT_ID)
    assert first.state is EffectState.CONFIRMED
    assert first.remarks == ("the provider says bounced",)
    assert world.kinds.count(EventKind.REMARK_NOTED) == 1
    assert world.run().state is RunState.COMPLETED
    assert (told(world), packet(world).summary) == before
    assert [found for found in offered(world) if found.allowed] == []
    assert len(world.post.calls) == 2


@pytest.mark.parametrize("action", [AGAIN, SENT])
def test_no_decision_is_offered_about_a_mail_that_another_has_replaced(action: str) -> None:
    world = a_world_with_two_receipts()
    first = world.effect(RECEIPT_ID).model_copy(update={"state": EffectState.CONTRADICTED})
    given(world, first)
    world.change(lambda draft: draft.send_to_review("a person asked"))

    decision = offer(world, action, RECEIPT_ID)

    assert not decision.allowed
    assert decision.refused_because == "Another one has taken its place."


def test_a_bounce_of_the_receipt_that_counts_still_brings_the_run_to_a_person() -> None:
    world = an_approved_world()
    world.perform()
    world.perform("receipt")
    world.resume()

    assert came_back(world)

    assert world.effect(RECEIPT_ID).state is EffectState.CONTRADICTED
    assert world.run().state is RunState.REVIEW
    wait_until_due(world)
    assert offer(world, AGAIN, RECEIPT_ID).allowed
