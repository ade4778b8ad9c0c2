"""A later write is refused: what was done is told, and can be taken back on a yes to it alone."""

from typing import Any

import pytest
from pydantic import ValidationError

from ledger.approve import Decision
from ledger.checkpoint import CompletionContract
from ledger.counter import perform_counter
from ledger.effect import Effect
from ledger.errors import LedgerError, ProviderUnavailable, RequestRefused, ReviewRequired
from ledger.event import EventKind
from ledger.inbox import review_summary
from ledger.notice import look_again
from ledger.provider import RecordStatus
from ledger.resume import next_state
from ledger.sweep import SweepResult
from ledger.task import Task
from ledger.transitions import EffectState, RunState
from ledger.versions import Migration, Versions
from ledger.workflow import Compensation, Operation, WorkflowDefinition
from reconciler.reconcile_worker import look_after
from tests.fakes.clock import FakeTimeLeft
from tests.unit.ledger.desk import (
    ASK,
    CLOSE,
    MOVE,
    RESUME,
    UNDO,
    act,
    allowed,
    facts_of,
    offer,
    offered,
    packet,
    told,
)
from tests.unit.ledger.sample import (
    APPROVAL_LIFETIME_SECONDS,
    CARD_DECLINED,
    LEASE_SECONDS,
    NO_ANSWER,
    OPERATOR,
    REFUND_ID,
    RUN_ID,
    SETTLE_WINDOW_SECONDS,
)
from tests.unit.ledger.scripted_provider import Step
from tests.unit.ledger.support import World, a_world, given
from tests.unit.ledger.versions import with_fee

COUNTER = Operation(
    name="take_back",
    label="Refund taken back",
    provider="payments",
    checkpoint="refund_taken_back",
    request_fields=("charge_id",),
    fixed={"direction": "back"},
    requires=("refund_confirmed",),
    moves_money=True,
    compensates=Compensation(operation="refund", offer="take the refund back"),
)


def with_counter(counter: Operation = COUNTER, **changes: Any) -> WorkflowDefinition:
    """Return the sample workflow with a fee after the refund, which then can be taken back."""
    definition = with_fee()
    contract = CompletionContract(
        checkpoint="refund_taken_back",
        claim="The refund was taken back.",
        owner="payments",
        evidence_fields=("charge_id",),
    )
    return WorkflowDefinition.model_validate(
        {
            **dict(definition),
            "operations": (*definition.operations, counter),
            "contracts": (*definition.contracts, contract),
            **changes,
        }
    )


def refunded() -> World:
    """Return a world whose refund is confirmed, with the fee to follow."""
    definition = with_counter()
    world = a_world(definition)
    world.versions = Versions({definition.version: definition})
    asked = world.ask().pending_approval()
    assert asked is not None
    world.decide(digest=asked.digest)
    world.resume()
    world.perform()
    return world


def fee_refused() -> World:
    """Return a world whose refund is confirmed and whose fee the provider has refused for good."""
    world = refunded()
    world.payments.script = [Step(None, CARD_DECLINED)]
    with pytest.raises(ReviewRequired):
        world.perform("fee")
    return world


def offered_back() -> World:
    """Return a world in which the customer is asked whether the refund is taken back."""
    world = fee_refused()
    act(world, UNDO, REFUND_ID)
    return world


def agreed() -> World:
    """Return a world in which the customer has said yes to that."""
    world = offered_back()
    answer(world, Decision.APPROVE)
    return world


def answer(world: World, decision: Decision) -> None:
    """Let the customer answer what is asked now."""
    pending = world.ledger.pending_approval()
    assert pending is not None
    world.decide(decision, ordinal=len(world.ledger.approvals), digest=pending.digest)


def tick(world: World, remaining_ms: int = 60_000) -> str:
    """Let the reconciler look when the run is due next; return what it made of it."""
    world.clock.move_to(max(world.run().due_at_ms or 0, world.clock.now_ms()))
    time_left = FakeTimeLeft(world.clock, world.clock.now_ms() + remaining_ms)
    return look_after(world.ports, time_left, RUN_ID)


def counter_of(world: World) -> Effect:
    """Return the newest counter-effect."""
    found = world.ledger.newest_effect("take_back")
    assert found is not None
    return found


def made(world: World) -> int:
    """Return how often the provider was asked to take the refund back."""
    return len([call for call in world.payments.calls if "direction" in call.bound])


def test_given_a_refusal_when_told_then_every_reader_hears_what_is_done_and_what_is_not() -> None:
    world = fee_refused()

    operator, customer, model = facts_of(world), told(world), packet(world)

    assert {e.operation: e.state for e in operator.effects} == {
        "refund": EffectState.CONFIRMED,
        "fee": EffectState.REJECTED,
    }
    assert {e.operation: e.status for e in customer.effects} == {
        "refund": "confirmed",
        "fee": "refused by the provider",
    }
    assert "Refund payments_1 for USD 79.00 is confirmed" in model.summary
    assert "fee was refused by the provider" in model.summary
    assert "receipt email is pending" in model.summary
    for said in (operator.not_begun, model.summary, customer.proven):
        assert "taken back" not in str(said)


def test_given_a_refusal_when_nobody_acts_then_nothing_is_ever_taken_back() -> None:
    world = fee_refused()

    for _ in range(5):
        tick(world)

    assert made(world) == 0
    assert world.run().state is RunState.REVIEW


def test_given_a_refusal_when_offered_then_the_consequence_is_named() -> None:
    world = fee_refused()

    found = offer(world, UNDO, REFUND_ID)

    assert found.allowed
    assert found.label == "Offer to take the refund back"
    assert found.consequence.writes == ("Refund taken back",)
    assert found.consequence.reads == ("payments",)
    assert found.consequence.moves_money
    assert "approve exactly this: to take the refund back" in found.consequence.words
    assert "Nothing is written before they approve" in found.consequence.words
    # And no other offer names it as something that would follow.
    others = [one for one in offered(world) if one.action.value != UNDO]
    assert all("Refund taken back" not in one.consequence.writes for one in others)


def test_given_nothing_refused_then_taking_back_is_refused_with_the_reason() -> None:
    world = refunded()
    assert "not in review" in offer(world, UNDO, REFUND_ID).refused_because
    world.change(lambda draft: draft.send_to_review("somebody looks"))

    found = offer(world, UNDO, REFUND_ID)

    assert found.refused_because == "Nothing that was to follow it was refused for good."
    with pytest.raises(RequestRefused):
        act(world, UNDO, REFUND_ID)


def test_given_a_write_in_doubt_or_in_conflict_then_that_comes_first() -> None:
    in_doubt, in_conflict = fee_refused(), fee_refused()
    for world, state in (
        (in_doubt, EffectState.UNKNOWN),
        (in_conflict, EffectState.CONTRADICTED),
    ):
        other = {"effect_id": "eff_other", "operation": "receipt", "state": state}
        given(world, world.effect().model_copy(update=other))

    assert "reconcile it first" in offer(in_doubt, UNDO, REFUND_ID).refused_because
    assert "reconcile it first" in offer(in_conflict, UNDO, REFUND_ID).refused_because


def test_given_nothing_done_then_there_is_nothing_to_take_back() -> None:
    world = a_world(with_counter())

    assert UNDO not in {found.action.value for found in offered(world)}


def test_given_the_offer_when_made_then_the_customer_is_asked_about_exactly_this() -> None:
    world = offered_back()

    assert world.run().state is RunState.AWAITING_APPROVAL
    pending = world.ledger.pending_approval()
    assert pending is not None
    assert pending.payload == {"take_back": {"charge_id": "ch_1", "direction": "back"}}
    assert pending.compensates == REFUND_ID
    shown = told(world).approval
    assert shown is not None
    assert shown.payload == pending.payload
    assert made(world) == 0


def test_given_the_offer_when_made_then_an_older_execution_does_nothing_more() -> None:
    world = offered_back()

    assert world.run().epoch == 2
    assert next_state(world.definition, world.ledger) == "Review"
    assert world.resume(Task(run_id=RUN_ID, epoch=2)) == "Review"
    assert world.run().state is RunState.AWAITING_APPROVAL
    world.clock.pass_ms(1)
    starts = len(world.executions.starts)
    assert world.sweep() is SweepResult.SKIPPED  # not due before the request ends
    assert len(world.executions.starts) == starts


def test_given_a_yes_when_the_sweeper_comes_then_it_is_written_once_and_read_back() -> None:
    # Given a customer who has agreed that the refund is taken back.
    world = agreed()
    assert world.run().state is RunState.ACTIVE
    starts = list(world.executions.starts)

    # When the sweeper comes by.
    assert tick(world) == SweepResult.COUNTER

    # Then it is an effect of its own, proven, on a yes of its own.
    effect = counter_of(world)
    approval = world.ledger.newest_approval()
    assert approval is not None
    assert effect.state is EffectState.CONFIRMED
    assert (effect.approval_id, effect.compensates) == (approval.approval_id, REFUND_ID)
    assert approval.spent_on == {"take_back": effect.effect_id}
    assert effect.idempotency_key != world.effect().idempotency_key
    assert effect.evidence is not None
    assert made(world) == 1
    # And a person closes the run; no execution was started for it.
    assert world.run().state is RunState.REVIEW
    assert "as the customer approved" in world.run().review_reason
    assert world.executions.starts == starts
    actors = {e.actor.kind for e in world.events if e.subject == effect.effect_id}
    assert actors == {"reconciler"}


def test_given_it_was_taken_back_when_told_then_no_reader_hears_that_the_refund_stands() -> None:
    world = agreed()
    tick(world)

    operator, customer, model = facts_of(world), told(world), packet(world)

    (refund,) = (found for found in operator.effects if found.operation == "refund")
    assert refund.undone
    assert refund.proven_fields == {}
    assert "refund_confirmed" not in operator.proven
    assert "The payment provider confirms the refund." not in customer.proven
    statuses = {found.operation: found.status for found in customer.effects}
    assert statuses["refund"] == "confirmed, and taken back since with your approval"
    assert statuses["take_back"] == "confirmed"
    assert "was confirmed, and is taken back since" in model.summary
    assert "refund taken back payments_3 is confirmed" in model.summary
    waiting = review_summary(world.definition, world.ledger, world.clock.now_ms())
    assert waiting is not None
    assert waiting.confirmed == ("Refund taken back payments_3",)


def test_given_it_was_taken_back_then_the_run_is_closed_and_does_not_go_on() -> None:
    world = agreed()
    tick(world)

    for action in (RESUME, ASK):
        assert "taken back" in offer(world, action).refused_because
    assert offer(world, UNDO, REFUND_ID).refused_because == "It is taken back already."
    assert CLOSE in {found.action.value for found in allowed(world)}
    assert act(world, CLOSE).run.state is RunState.CLOSED


def test_given_a_run_that_was_let_go_on_all_the_same_then_it_stops_again() -> None:
    world = agreed()
    tick(world)
    world.change(
        lambda draft: draft.move_run(RunState.ACTIVE, EventKind.REVIEW_ENDED, "by mistake")
    )

    assert tick(world) == SweepResult.COUNTER

    assert world.run().state is RunState.REVIEW
    assert made(world) == 1


def test_given_a_no_then_nothing_is_written_and_a_person_looks() -> None:
    world = offered_back()

    answer(world, Decision.DECLINE)
    for _ in range(3):
        tick(world)

    assert made(world) == 0
    assert world.run().state is RunState.REVIEW
    assert not facts_of(world).effects[0].undone
    assert offer(world, ASK).allowed


def test_given_no_answer_in_time_then_nothing_is_written_and_a_person_looks() -> None:
    world = offered_back()

    world.pass_seconds(APPROVAL_LIFETIME_SECONDS)
    tick(world)

    assert made(world) == 0
    assert world.run().state is RunState.REVIEW


def test_given_a_yes_that_ran_out_before_it_was_used_then_nothing_is_written() -> None:
    world = agreed()

    world.pass_seconds(APPROVAL_LIFETIME_SECONDS)
    tick(world)

    assert made(world) == 0
    assert world.run().state is RunState.REVIEW
    assert "expired" in world.run().review_reason


def test_given_a_refund_that_no_longer_stands_then_nothing_is_written() -> None:
    world = agreed()
    world.payments.held[:] = [
        found.model_copy(update={"status": RecordStatus.FAILED}) for found in world.payments.held
    ]

    tick(world)

    assert made(world) == 0
    assert world.effect().state is EffectState.CONTRADICTED
    assert world.run().state is RunState.REVIEW


def test_given_an_owner_who_does_not_allow_it_now_then_nothing_is_written() -> None:
    world = agreed()
    world.payments.allowed = world.payments.allowed.model_copy(
        update={"allowed": False, "reason": "the account is closed"}
    )

    tick(world)

    assert made(world) == 0
    assert "the account is closed" in world.run().review_reason


@pytest.mark.parametrize("status", [RecordStatus.DONE, None])
def test_given_a_lost_answer_then_it_is_looked_up_and_never_made_beside_itself(
    status: RecordStatus | None,
) -> None:
    world = agreed()
    world.payments.script = [Step(status, NO_ANSWER)]

    tick(world)
    assert counter_of(world).state is EffectState.UNKNOWN
    for _ in range(8):
        world.pass_seconds(LEASE_SECONDS + SETTLE_WINDOW_SECONDS)
        tick(world)

    marks = [f for f in world.payments.held if f.mark == counter_of(world).effect_id]
    assert len(marks) == 1
    assert counter_of(world).state is EffectState.CONFIRMED
    assert world.run().state is RunState.REVIEW
    assert made(world) == (1 if status else 2)


class WorkerDied(BaseException):
    """The process is gone."""


def test_given_a_worker_that_dies_in_the_call_then_another_finds_out_and_writes_nothing() -> None:
    world = agreed()

    def die() -> None:
        raise WorkerDied

    world.payments.during_call = die
    with pytest.raises(WorkerDied):
        tick(world)
    world.payments.during_call = None
    for _ in range(4):
        world.pass_seconds(LEASE_SECONDS + SETTLE_WINDOW_SECONDS)
        tick(world)

    assert made(world) == 1
    assert counter_of(world).state is EffectState.CONFIRMED
    assert world.run().state is RunState.REVIEW


def test_given_a_provider_that_cannot_be_read_then_it_is_tried_again_later() -> None:
    world = agreed()
    world.payments.authority_fault = NO_ANSWER

    tick(world)
    assert world.run().state is RunState.ACTIVE
    assert made(world) == 0
    world.payments.authority_fault = None
    tick(world)

    assert counter_of(world).state is EffectState.CONFIRMED


def test_given_too_little_time_then_nothing_is_begun_and_the_next_tick_does_it() -> None:
    world = agreed()

    tick(world, remaining_ms=30_000)
    assert made(world) == 0
    assert world.run().state is RunState.ACTIVE
    tick(world)

    assert made(world) == 1


def test_given_the_counter_effect_is_refused_then_the_refund_stands_and_may_be_offered_anew() -> (
    None
):
    world = agreed()
    world.payments.script = [Step(None, CARD_DECLINED)]

    tick(world)
    first = counter_of(world)
    assert first.state is EffectState.REJECTED
    assert world.run().state is RunState.REVIEW
    assert told(world).effects[0].status == "confirmed"
    act(world, UNDO, REFUND_ID)
    answer(world, Decision.APPROVE)
    tick(world)

    second = counter_of(world)
    assert (second.instance, second.state) == (2, EffectState.CONFIRMED)
    assert second.idempotency_key != first.idempotency_key
    assert facts_of(world).effects[0].undone


def test_given_a_process_that_knows_no_versions_then_it_leaves_the_write_to_one_that_does() -> None:
    world = agreed()
    versions, world.versions = world.versions, None

    tick(world)
    assert made(world) == 0
    assert world.run().state is RunState.ACTIVE
    world.versions = versions
    tick(world)

    assert made(world) == 1


def test_given_a_version_that_is_not_registered_then_a_person_looks() -> None:
    world = agreed()
    world.versions = Versions()

    tick(world)

    assert made(world) == 0
    assert "not registered" in world.run().review_reason


@pytest.mark.parametrize("make", [refunded, fee_refused, offered_back])
def test_given_no_yes_to_it_when_asked_to_make_it_then_nothing_happens(make: Any) -> None:
    world = make()
    before = world.ledger

    perform_counter(world.ports, FakeTimeLeft(world.clock, 2**53), RUN_ID)

    assert world.ledger == before


def test_given_a_yes_to_taking_back_then_it_covers_nothing_else() -> None:
    world = agreed()

    with pytest.raises(LedgerError):
        world.perform("fee", Task(run_id=RUN_ID, epoch=2))

    assert not any(call.bound == {"charge_id": "ch_1"} for call in world.payments.calls[2:])


def test_given_a_yes_to_the_run_itself_then_it_covers_no_taking_back() -> None:
    world = refunded()

    with pytest.raises(LedgerError):
        world.perform("take_back")

    assert made(world) == 0


def test_given_a_version_with_a_counter_effect_then_its_own_yes_is_the_same_as_without() -> None:
    plain, more = with_fee(), with_counter()

    assert plain.approved_operations == more.approved_operations
    assert plain.consequence_digest() != more.consequence_digest()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"needs_approval": False}, "without a yes"),
        ({"checkpoint": "refund_confirmed"}, "part of the normal way"),
        ({"checkpoint": "nowhere"}, "needs one completion contract"),
        ({"requires": ("never",)}, "which no stage reaches"),
        ({"compensates": Compensation(operation="never", offer="x")}, "no stage performs"),
    ],
    ids=str,
)
def test_a_counter_effect_that_could_not_be_made_right_is_refused(
    changes: dict[str, Any], words: str
) -> None:
    with pytest.raises(ValidationError, match=words):
        with_counter(COUNTER.model_copy(update=changes))


def test_a_provider_that_was_not_reached_leaves_the_yes_unspent_for_the_next_try() -> None:
    world = agreed()
    world.payments.read_fault = NO_ANSWER

    with pytest.raises(ProviderUnavailable):
        perform_counter(world.ports, FakeTimeLeft(world.clock, 2**53), RUN_ID)

    world.payments.read_fault = None
    tick(world)
    assert made(world) == 1


def test_given_a_newer_question_after_it_was_taken_back_then_the_run_does_not_go_on_by_it() -> None:
    # Given a run of which a write was taken back, that something let go on with another approval.
    world = agreed()
    tick(world)
    newest = world.ledger.newest_approval()
    assert newest is not None
    other = {
        "approval_id": "apr_later",
        "compensates": None,
        "requested_at_ms": newest.requested_at_ms + 1,
    }
    given(world, newest.model_copy(update=other))
    world.change(
        lambda draft: draft.move_run(RunState.ACTIVE, EventKind.REVIEW_ENDED, "by mistake")
    )
    refund = world.effect()
    fee = world.ledger.newest_effect("fee")
    assert fee is not None
    given(world, fee.model_copy(update={"superseded": True}))

    # When its execution asks where it stands.
    assert world.resume(Task(run_id=RUN_ID, epoch=world.run().epoch)) == "Review"

    # Then it stops for a person, and the refund is not made once more.
    assert "refund was done and taken back" in world.run().review_reason
    assert world.effect() == refund


def test_given_it_was_taken_back_then_its_owner_is_not_asked_whether_it_still_stands() -> None:
    # Given a refund whose owner is asked again after a day, and which was taken back before.
    world = agreed()
    given(world, world.effect().model_copy(update={"rechecks_after_seconds": (24 * 3600,)}))
    tick(world)
    world.payments.held[:] = [f for f in world.payments.held if f.mark != REFUND_ID]
    looked = world.payments.look_ups

    # When days pass, and a notice about it comes.
    for _ in range(3):
        world.pass_seconds(24 * 3600)
        tick(world)
    look_again(world.ports, RUN_ID, REFUND_ID, OPERATOR)

    # Then nobody takes for a contradiction what the customer has agreed to.
    assert world.effect().state is EffectState.CONFIRMED
    assert world.payments.look_ups == looked
    act(world, CLOSE)
    assert world.run().due_at_ms is None


def test_given_it_was_taken_back_then_the_run_is_moved_to_no_other_version() -> None:
    world = agreed()
    tick(world)
    new = with_counter(number=4)
    versions = {found.version: found for found in (world.definition, new)}
    step = Migration(from_version="give-back@2", to_version="give-back@4", reason="it is newer")
    world.versions = Versions(versions, (step,))

    assert "taken back" in offer(world, MOVE).refused_because


def test_given_a_run_that_is_closed_then_nothing_is_offered_to_be_taken_back() -> None:
    world = fee_refused()
    act(world, CLOSE)

    assert UNDO not in {found.action.value for found in offered(world)}
