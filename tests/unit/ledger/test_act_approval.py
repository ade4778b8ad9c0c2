"""What follows when an operator has the customer asked once more."""

from ledger.approval import ApprovalState
from ledger.event import EventKind
from ledger.idempotency import effect_id_for
from ledger.transitions import EffectState, RunState
from tests.unit.ledger.desk import ASK, act, facts_of, go_on
from tests.unit.ledger.sample import (
    MAX_EXECUTIONS,
    REFUND_ID,
    RUN_ID,
)
from tests.unit.ledger.situations import (
    approval_lapsed,
    refund_rejected,
    second_refund_confirmed,
)
from tests.unit.ledger.support import given, wait_until_due

SECOND_REFUND_ID = effect_id_for(RUN_ID, "refund", 2)


def test_a_fresh_approval_after_a_refusal_leads_to_a_second_refund_with_its_own_key_and_mark() -> (
    None
):
    world = second_refund_confirmed()
    first, second = world.effect(REFUND_ID), world.effect(SECOND_REFUND_ID)

    assert (first.state, second.state) == (EffectState.REJECTED, EffectState.CONFIRMED)
    assert (first.instance, second.instance) == (1, 2)
    assert first.idempotency_key != second.idempotency_key
    assert first.request.stored_params()["mark"] == REFUND_ID
    assert second.request.stored_params()["mark"] == SECOND_REFUND_ID
    assert first.approval_id != second.approval_id
    assert [call.effect_id for call in world.payments.calls] == [REFUND_ID, SECOND_REFUND_ID]
    go_on(world)
    assert world.run().state is RunState.COMPLETED
    assert world.post.calls[0].bound["refund_id"] == "payments_2"


def test_nothing_is_sent_before_the_customer_approves_again() -> None:
    world = refund_rejected()

    act(world, ASK)
    resumed = world.resume()

    assert world.run().state is RunState.AWAITING_APPROVAL
    assert resumed == "AskCustomer"
    approval = facts_of(world).approval
    assert approval is not None
    assert approval.state == ApprovalState.PENDING
    assert set(approval.payload) == {"refund"}
    assert len(world.payments.calls) == 1


def test_an_execution_that_still_ran_waits_with_the_customer_and_takes_no_question_back() -> None:
    world = refund_rejected()
    act(world, ASK)
    asked = facts_of(world).approval

    assert world.resume() == "AskCustomer"
    world.ask("token of the execution that still ran")

    assert world.run().state is RunState.AWAITING_APPROVAL
    assert facts_of(world).approval == asked
    assert EventKind.APPROVAL_WAIT_RENEWED in world.kinds


def test_a_fresh_request_counts_though_its_clock_is_behind() -> None:
    world = refund_rejected()
    world.clock.at_ms -= 5_000

    act(world, ASK)

    pending, shown = world.ledger.pending_approval(), facts_of(world).approval
    assert pending is not None
    assert shown is not None
    assert pending.approval_id == shown.approval_id
    assert pending.expires_at_ms == world.clock.now_ms() + 24 * 3_600_000


def test_a_yes_to_a_fresh_request_finds_an_execution_that_acts_on_it() -> None:
    world = refund_rejected()
    given(world, epoch=MAX_EXECUTIONS)

    act(world, ASK)
    world.decide(ordinal=2)
    wait_until_due(world)
    world.sweep()

    assert world.run().state is RunState.ACTIVE


def test_a_lapsed_request_is_followed_by_a_fresh_one() -> None:
    world = approval_lapsed()

    act(world, ASK)
    go_on(world)

    assert world.run().state is RunState.COMPLETED
