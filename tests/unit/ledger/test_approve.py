"""Asking for one exact yes: once, again, and not for ever."""

import pytest

from ledger.approval import ApprovalState
from ledger.approve import MAX_REQUESTS
from ledger.errors import EffectUnknown, ReviewRequired, StaleExecution
from ledger.event import Actor, EventKind
from ledger.idempotency import approval_id_for
from ledger.task import Task
from ledger.transitions import RunState
from tests.unit.ledger.sample import (
    APPROVAL_LIFETIME_SECONDS,
    DIGEST,
    NO_ANSWER,
    PAYLOAD,
    RUN_ID,
    TASK,
)
from tests.unit.ledger.scripted_provider import Step
from tests.unit.ledger.support import World, a_world, an_approved_world, given

SOMEBODY_ELSE = Actor(kind="customer", actor_id="customer-2")
FIRST = approval_id_for(RUN_ID, 1)


def decided(world: World, ordinal: int = 1) -> ApprovalState:
    """Return what is on record for a request."""
    approval = world.ledger.approval(approval_id_for(RUN_ID, ordinal))
    assert approval is not None
    return approval.state


def test_the_first_request_shows_the_exact_payload_and_waits() -> None:
    world = a_world()

    ledger = world.ask()

    approval = ledger.pending_approval()
    assert approval is not None
    assert approval.approval_id == FIRST
    assert approval.payload == PAYLOAD
    assert approval.digest == DIGEST
    assert approval.expires_at_ms == world.clock.now_ms() + APPROVAL_LIFETIME_SECONDS * 1000
    assert ledger.run.state is RunState.AWAITING_APPROVAL
    assert world.doorbell.rung == []


def test_asking_again_shows_the_customer_one_request_behind_the_newest_doorbell() -> None:
    world = a_world()
    world.ask("token-1")

    ledger = world.ask("token-2")

    (approval,) = ledger.approvals
    assert approval.task_token == "token-2"
    assert world.doorbell.rung == []
    world.decide()
    assert world.doorbell.rung == ["token-2"]


def test_asking_again_with_the_same_doorbell_changes_nothing() -> None:
    world = a_world()
    before = world.ask("token-1")

    assert world.ask("token-1") == before


def test_an_execution_that_asks_for_what_was_approved_is_woken_at_once() -> None:
    world = an_approved_world()

    ledger = world.ask("token-2")

    assert len(ledger.approvals) == 1
    assert world.doorbell.rung == ["token-1", "token-2"]
    assert ledger.run.state is RunState.ACTIVE


def test_an_execution_that_asks_for_what_is_done_already_is_woken_at_once() -> None:
    world = an_approved_world()
    world.perform()
    world.pass_seconds(APPROVAL_LIFETIME_SECONDS)

    ledger = world.ask("token-2")

    assert len(ledger.approvals) == 1
    assert world.doorbell.rung[-1] == "token-2"


def test_a_yes_that_ran_out_before_it_was_used_is_asked_for_anew() -> None:
    world = an_approved_world()
    world.pass_seconds(APPROVAL_LIFETIME_SECONDS)

    ledger = world.ask("token-2")

    assert ledger.run.state is RunState.AWAITING_APPROVAL
    assert [found.approval_id for found in ledger.approvals] != [FIRST]
    pending = ledger.pending_approval()
    assert pending is not None
    assert pending.approval_id == approval_id_for(RUN_ID, 2)


def test_a_yes_that_the_write_would_refuse_is_not_taken_as_one() -> None:
    world = an_approved_world()
    approval = world.ledger.approval(FIRST)
    assert approval is not None
    given(world, approval.model_copy(update={"spent_on": {"refund": "eff_other"}}))

    ledger = world.ask("token-2")

    assert ledger.run.state is RunState.AWAITING_APPROVAL
    assert len(ledger.approvals) == 2


def test_a_pending_request_of_a_run_that_came_back_from_review_can_be_answered() -> None:
    world = a_world()
    world.ask("token-1")
    given(world, state=RunState.ACTIVE)

    world.ask("token-2")

    assert world.run().state is RunState.AWAITING_APPROVAL
    assert world.doorbell.rung == []
    world.decide()
    assert decided(world) is ApprovalState.APPROVED


def test_a_request_that_ran_out_while_a_person_looked_is_made_anew() -> None:
    world = a_world()
    world.ask("token-1")
    given(world, state=RunState.ACTIVE)
    world.pass_seconds(APPROVAL_LIFETIME_SECONDS)

    ledger = world.ask("token-2")

    assert len(ledger.approvals) == 2
    pending = ledger.pending_approval()
    assert pending is not None
    assert not pending.expired(world.clock.now_ms())


def test_a_customer_is_asked_a_bounded_number_of_times() -> None:
    world = a_world()
    for ordinal in range(1, MAX_REQUESTS + 1):
        world.ask(f"token-{ordinal}")
        world.decide(ordinal=ordinal)
        world.pass_seconds(APPROVAL_LIFETIME_SECONDS)

    ledger = world.ask("token-last")

    assert len(ledger.approvals) == MAX_REQUESTS
    assert ledger.run.state is RunState.REVIEW
    assert world.doorbell.rung[-1] == "token-last"


@pytest.mark.parametrize(
    "not_in_vain",
    [{"spent_on": {"refund": "eff_done"}}, {"compensates": "eff_done"}],
    ids=["used", "about taking something back"],
)
def test_given_requests_that_were_not_in_vain_when_asked_again_then_they_are_not_counted(
    not_in_vain: dict[str, object],
) -> None:
    world = a_world()
    for ordinal in range(1, MAX_REQUESTS + 1):
        world.ask(f"token-{ordinal}")
        world.decide(ordinal=ordinal)
        world.pass_seconds(APPROVAL_LIFETIME_SECONDS)
    (newest,) = world.ledger.approvals[-1:]
    given(world, newest.model_copy(update=not_in_vain))

    ledger = world.ask("token-last")

    assert len(ledger.approvals) == MAX_REQUESTS + 1
    assert ledger.run.state is RunState.AWAITING_APPROVAL


def test_a_replaced_execution_asks_nobody() -> None:
    world = a_world()
    given(world, epoch=2)

    with pytest.raises(StaleExecution):
        world.ask()

    assert world.ledger.approvals == ()


def test_nobody_is_asked_for_a_run_in_review() -> None:
    world = a_world()
    world.change(lambda draft: draft.send_to_review("a person asked"))

    with pytest.raises(ReviewRequired):
        world.ask()

    assert world.ledger.approvals == ()


def test_a_request_that_nobody_answers_goes_to_a_person_when_it_runs_out() -> None:
    world = a_world()
    world.ask()
    world.pass_seconds(APPROVAL_LIFETIME_SECONDS)

    assert world.resume() == "Review"

    assert EventKind.APPROVAL_LAPSED in world.kinds
    assert "did not decide" in world.run().review_reason


def test_a_request_that_ran_out_on_the_way_to_asking_again_goes_to_a_person() -> None:
    world = a_world()
    world.ask()
    world.pass_seconds(APPROVAL_LIFETIME_SECONDS)

    ledger = world.ask("token-2")

    assert ledger.run.state is RunState.REVIEW
    assert world.doorbell.rung == ["token-2"]


def test_a_request_does_not_run_out_before_its_time() -> None:
    world = a_world()
    world.ask()
    world.clock.pass_ms(APPROVAL_LIFETIME_SECONDS * 1000 - 1)

    assert world.resume() == "AskCustomer"

    assert world.run().state is RunState.AWAITING_APPROVAL


def test_a_yes_given_twice_pays_once() -> None:
    world = an_approved_world()
    world.payments.script = [Step(None, NO_ANSWER)]
    with pytest.raises(EffectUnknown):
        world.perform()
    world.prove_absence()
    world.pass_seconds(APPROVAL_LIFETIME_SECONDS)
    world.ask("token-2", Task(run_id=RUN_ID, epoch=TASK.epoch))
    world.decide(ordinal=2)

    world.perform()
    world.perform()

    assert len(world.payments.held) == 1
