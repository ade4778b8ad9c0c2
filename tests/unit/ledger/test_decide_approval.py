"""A person's answer: the first one counts, and is on record before anything acts on it."""

import pytest

from ledger.approval import ApprovalState
from ledger.approve import Decision
from ledger.errors import RequestRefused, StaleExecution
from ledger.event import Actor, EventKind
from ledger.idempotency import approval_id_for
from ledger.transitions import EffectState, RunState
from tests.unit.ledger.desk import ASK, act, told
from tests.unit.ledger.sample import (
    APPROVAL_LIFETIME_SECONDS,
    DIGEST,
    RUN_ID,
    a_refund,
)
from tests.unit.ledger.support import World, a_world, given

SOMEBODY_ELSE = Actor(kind="customer", actor_id="customer-2")
FIRST = approval_id_for(RUN_ID, 1)


def decided(world: World, ordinal: int = 1) -> ApprovalState:
    """Return what is on record for a request."""
    approval = world.ledger.approval(approval_id_for(RUN_ID, ordinal))
    assert approval is not None
    return approval.state


def test_a_yes_is_on_record_before_anybody_is_woken() -> None:
    world = a_world()
    world.ask()
    world.doorbell.silent = True

    ledger = world.decide()

    assert decided(world) is ApprovalState.APPROVED
    approval = ledger.approval(FIRST)
    assert approval is not None
    assert approval.decided_by == "customer-1"
    assert approval.decided_at_ms == world.clock.now_ms()
    assert ledger.run.state is RunState.ACTIVE
    assert ledger.run.due_at_ms is not None
    assert ledger.run.due_at_ms <= world.clock.now_ms() + 60_000


def test_a_yes_proves_its_checkpoint_with_who_said_it_to_what() -> None:
    world = a_world()
    world.ask()

    checkpoint = world.decide().proven("request_approved")

    assert checkpoint is not None
    assert checkpoint.evidence.fields == {"digest": DIGEST, "decided_by": "customer-1"}
    assert checkpoint.evidence.source == "ledger"
    checkpoint.check(world.definition.contract("request_approved"))


def test_a_stale_doorbell_is_no_error_for_the_person() -> None:
    world = a_world()
    world.ask()
    world.doorbell.stale = {"token-1"}

    world.decide()

    assert decided(world) is ApprovalState.APPROVED


def test_a_request_without_a_doorbell_can_be_answered() -> None:
    world = a_world()
    world.ask()
    approval = world.ledger.approval(FIRST)
    assert approval is not None
    given(world, approval.model_copy(update={"task_token": None}))

    world.decide()

    assert decided(world) is ApprovalState.APPROVED
    assert world.doorbell.rung == []


@pytest.mark.parametrize("decision", list(Decision))
def test_the_same_person_saying_the_same_again_is_harmless(decision: Decision) -> None:
    world = a_world()
    world.ask()
    world.decide(decision)
    before = world.events

    world.decide(decision)

    assert world.events == before


@pytest.mark.parametrize("second", list(Decision))
@pytest.mark.parametrize("first", list(Decision))
def test_of_two_people_deciding_together_the_first_wins_and_the_other_is_told(
    first: Decision, second: Decision
) -> None:
    world = a_world()
    world.ask()

    def rival() -> None:
        world.decide(first, actor=SOMEBODY_ELSE)

    world.store.rivals = [rival]
    with pytest.raises(RequestRefused) as refused:
        world.decide(second)

    assert refused.value.problem == "already-decided"
    wanted = ApprovalState.APPROVED if first is Decision.APPROVE else ApprovalState.DECLINED
    assert decided(world) is wanted
    decisions = [EventKind.APPROVAL_GRANTED, EventKind.APPROVAL_DECLINED]
    assert len([kind for kind in world.kinds if kind in decisions]) == 1


@pytest.mark.parametrize(
    ("first", "second"),
    [(Decision.APPROVE, Decision.DECLINE), (Decision.DECLINE, Decision.APPROVE)],
)
def test_a_person_who_changes_their_mind_is_told_what_was_recorded(
    first: Decision, second: Decision
) -> None:
    world = a_world()
    world.ask()
    world.decide(first)

    with pytest.raises(RequestRefused) as refused:
        world.decide(second)

    assert refused.value.problem == "already-decided"


def test_an_answer_to_another_payload_than_the_one_on_record_is_refused() -> None:
    world = a_world()
    world.ask()

    with pytest.raises(RequestRefused) as refused:
        world.decide(digest="sha256:00")

    assert refused.value.problem == "digest-mismatch"
    assert decided(world) is ApprovalState.PENDING


def test_an_answer_to_a_request_that_was_never_made_is_refused() -> None:
    world = a_world()
    world.ask()

    with pytest.raises(RequestRefused) as refused:
        world.decide(ordinal=2)

    assert refused.value.problem == "approval-not-found"


@pytest.mark.parametrize("decision", list(Decision))
def test_an_answer_at_the_exact_millisecond_of_expiry_is_too_late(decision: Decision) -> None:
    world = a_world()
    world.ask()
    world.clock.pass_ms(APPROVAL_LIFETIME_SECONDS * 1000)

    with pytest.raises(RequestRefused) as refused:
        world.decide(decision)

    assert refused.value.problem == "approval-expired"
    assert decided(world) is ApprovalState.PENDING


def test_an_answer_in_the_last_millisecond_counts() -> None:
    world = a_world()
    world.ask()
    world.clock.pass_ms(APPROVAL_LIFETIME_SECONDS * 1000 - 1)

    world.decide()

    assert decided(world) is ApprovalState.APPROVED


def test_an_answer_while_a_person_looks_at_the_run_is_refused() -> None:
    world = a_world()
    world.ask()
    world.change(lambda draft: draft.send_to_review("a person asked"))

    with pytest.raises(RequestRefused) as refused:
        world.decide()

    assert refused.value.problem == "not-awaiting-approval"


@pytest.mark.parametrize("decision", list(Decision))
def test_an_answer_to_a_request_that_another_has_replaced_is_refused(decision: Decision) -> None:
    world = a_world()
    world.ask()
    world.change(lambda draft: draft.send_to_review("a person asked"))
    act(world, ASK)
    before = world.events

    with pytest.raises(RequestRefused) as refused:
        world.decide(decision)

    assert refused.value.problem == "approval-replaced"
    assert world.events == before
    assert decided(world, 1) is ApprovalState.PENDING
    assert world.run().state is RunState.AWAITING_APPROVAL
    assert told(world).proven == ()
    world.decide(decision, ordinal=2)
    answered = ApprovalState.APPROVED if decision is Decision.APPROVE else ApprovalState.DECLINED
    assert decided(world, 2) is answered
    assert world.payments.calls == []


def test_a_no_before_anything_was_done_closes_the_run() -> None:
    world = a_world()
    world.ask()

    ledger = world.decide(Decision.DECLINE)

    assert ledger.run.state is RunState.CLOSED
    assert ledger.run.closed_at_ms == world.clock.now_ms()
    assert ledger.run.due_at_ms is None
    assert world.doorbell.rung == ["token-1"]
    with pytest.raises(StaleExecution):
        world.perform()


def test_a_no_to_what_was_planned_and_never_sent_closes_the_run() -> None:
    world = a_world()
    world.ask()
    given(world, a_refund())

    assert world.decide(Decision.DECLINE).run.state is RunState.CLOSED


@pytest.mark.parametrize(
    "state", [found for found in EffectState if found is not EffectState.PLANNED]
)
def test_a_no_after_something_was_sent_goes_to_a_person(state: EffectState) -> None:
    world = a_world()
    world.ask()
    given(world, a_refund(state))

    ledger = world.decide(Decision.DECLINE)

    assert ledger.run.state is RunState.REVIEW
    assert decided(world) is ApprovalState.DECLINED
    assert EventKind.APPROVAL_DECLINED in world.kinds
