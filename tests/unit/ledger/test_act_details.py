"""What an operator's action writes down, and what it does not begin beside itself."""

from ledger.checkpoint import CompletionContract
from ledger.event import EventKind
from ledger.transitions import RunState
from ledger.workflow import Compensation, Operation, WorkflowDefinition
from tests.unit.ledger.desk import MARK, MOVE, RECONCILE, UNDO, act, choice, offer, take
from tests.unit.ledger.sample import HOUR_SECONDS, OPERATOR, REFUND_ID
from tests.unit.ledger.situations import refund_rejected, refund_unknown
from tests.unit.ledger.support import World, an_approved_world, given
from tests.unit.ledger.test_counter import fee_refused, with_counter
from tests.unit.ledger.test_move import REWORDED, in_review, replaced

FEE_BACK = Operation(
    name="give_fee_back",
    label="Fee given back",
    provider="post",
    checkpoint="fee_given_back",
    request_fields=("charge_id",),
    compensates=Compensation(operation="fee", offer="give the fee back"),
)


def with_two_counters() -> WorkflowDefinition:
    """Return the sample workflow in which the refund and the fee can each be taken back."""
    definition = with_counter()
    contract = CompletionContract(
        checkpoint=FEE_BACK.checkpoint,
        claim="The fee was given back.",
        owner=FEE_BACK.provider,
        evidence_fields=("charge_id",),
    )
    return WorkflowDefinition.model_validate(
        {
            **dict(definition),
            "operations": (*definition.operations, FEE_BACK),
            "contracts": (*definition.contracts, contract),
        }
    )


def fee_refused_and_both_can_be_taken_back() -> World:
    """Return a world whose refund is confirmed, whose fee is refused, with a way back of each."""
    world = fee_refused()
    world.definition = with_two_counters()
    return world


def test_given_a_reason_of_one_character_when_acting_then_it_is_one() -> None:
    world = refund_rejected()

    take(world, choice(world, MARK, reason="?"))

    assert world.run().engineering


def test_given_an_action_when_recorded_then_its_event_tells_what_the_operator_had_read() -> None:
    world = refund_rejected()
    label = offer(world, MARK).label

    act(world, MARK)

    (event,) = [found for found in world.events if found.kind is EventKind.OPERATOR_ACTED]
    assert event.details == {"action": MARK, "label": label, "effect_id": ""}
    assert (event.prior_state, event.state) == (RunState.REVIEW, RunState.REVIEW)


def test_given_a_version_that_is_not_deployed_when_moved_to_then_the_trail_names_the_operator() -> (
    None
):
    world = replaced(in_review(an_approved_world()))
    world.executions.machines.discard(REWORDED.version)
    world.pass_seconds(HOUR_SECONDS)

    act(world, MOVE)

    last = world.events[-1]
    assert (last.kind, last.actor) == (EventKind.REVIEW_REQUIRED, OPERATOR)
    assert "is not deployed" in last.reason


def test_given_an_execution_that_has_yet_to_report_in_when_reconciled_then_it_gets_no_rival() -> (
    None
):
    world = refund_unknown()
    given(world, execution_started=False)
    epoch = world.run().epoch

    act(world, RECONCILE)

    assert world.run().epoch == epoch


def test_given_two_writes_that_can_be_taken_back_when_one_is_chosen_then_only_it_is_asked_for() -> (
    None
):
    world = fee_refused_and_both_can_be_taken_back()

    act(world, UNDO, REFUND_ID)

    pending = world.ledger.pending_approval()
    assert pending is not None
    assert set(pending.payload) == {"take_back"}
