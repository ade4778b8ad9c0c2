"""What confirming the targets keeps, for whom it works, and when it does not write."""

import pytest

from ledger.checkpoint import CompletionContract
from ledger.confirm import confirm_targets
from ledger.draft import Draft
from ledger.errors import ReviewRequired, StaleExecution
from ledger.event import EventKind
from ledger.task import Task
from ledger.transitions import RunState
from ledger.workflow import WorkflowDefinition
from tests.builders import personal_fields
from tests.unit.ledger.sample import RUN_ID, TASK
from tests.unit.ledger.support import World, a_world, given
from tests.unit.ledger.test_confirm import CONFIRMED, WITH_TARGETS

OLDER = {"customer_text": "I moved abroad", "email": "old@example.com"}


def confirm(world: World, definition: WorkflowDefinition = WITH_TARGETS, task: Task = TASK) -> None:
    """Run the stage that confirms the targets."""
    confirm_targets(world.ports, definition, task, CONFIRMED)


def test_given_what_the_customer_wrote_when_confirmed_then_the_contact_is_kept_beside_it() -> None:
    world = a_world(WITH_TARGETS, personal=False)

    def write(draft: Draft) -> None:
        draft.put_personal(OLDER)
        draft.note(EventKind.RECONCILE_READ, "given")

    world.change(write)

    confirm(world)

    kept = world.store.personal(RUN_ID)
    assert kept == personal_fields(
        run_id=RUN_ID,
        fields={"customer_text": "I moved abroad", "email": "ada@example.com", "name": "Ada"},
    )


def test_given_targets_that_were_read_when_confirmed_then_the_evidence_says_whose_and_when() -> (
    None
):
    world = a_world(WITH_TARGETS)

    confirm(world)

    checkpoint = world.ledger.proven(CONFIRMED)
    assert checkpoint is not None
    assert checkpoint.evidence.source == "payments"
    assert checkpoint.evidence.record_id == "cus_1"
    assert checkpoint.evidence.provider_status == "read"
    assert checkpoint.evidence.read_at_ms == checkpoint.reached_at_ms == world.clock.now_ms()


def test_given_nothing_kept_before_when_confirmed_then_there_is_the_contact() -> None:
    world = a_world(WITH_TARGETS, personal=False)

    confirm(world)

    kept = world.store.personal(RUN_ID)
    assert kept is not None
    assert kept.fields == {"email": "ada@example.com", "name": "Ada"}


def test_given_confirmed_targets_when_called_again_then_no_owner_is_read() -> None:
    world = a_world(WITH_TARGETS)
    confirm(world)
    reads = []
    world.payments.during_authority = lambda: reads.append(1)

    confirm(world)

    assert reads == []


def test_given_a_run_of_another_version_when_confirmed_then_this_code_stops() -> None:
    world = a_world(WITH_TARGETS)
    other = WITH_TARGETS.model_copy(update={"number": 3})

    with pytest.raises(StaleExecution, match="belongs to"):
        confirm(world, other)

    assert world.ledger.proven(CONFIRMED) is None


def test_given_a_replaced_execution_when_confirmed_then_no_owner_is_read() -> None:
    world = a_world(WITH_TARGETS)
    given(world, epoch=2)
    reads = []
    world.payments.during_authority = lambda: reads.append(1)

    with pytest.raises(StaleExecution):
        confirm(world)

    assert reads == []


def test_given_an_execution_replaced_while_it_read_when_confirmed_then_it_writes_nothing() -> None:
    world = a_world(WITH_TARGETS)
    world.payments.during_authority = lambda: given(world, epoch=2)

    with pytest.raises(StaleExecution):
        confirm(world)

    assert world.ledger.proven(CONFIRMED) is None


def test_given_a_run_sent_to_review_while_it_read_when_confirmed_then_it_writes_nothing() -> None:
    world = a_world(WITH_TARGETS)

    def somebody_looks() -> None:
        world.change(lambda draft: draft.send_to_review("a person asked"))

    world.payments.during_authority = somebody_looks

    with pytest.raises(ReviewRequired, match="a person asked"):
        confirm(world)

    assert world.ledger.proven(CONFIRMED) is None


def test_given_an_owner_that_says_too_little_when_confirmed_then_a_person_has_to_look() -> None:
    world = a_world(WITH_TARGETS)
    wants_more = CompletionContract(
        checkpoint=CONFIRMED,
        claim="The charge was read.",
        owner="payments",
        evidence_fields=("refund_refundable", "refund_disputed"),
    )
    contracts = (wants_more, *WITH_TARGETS.contracts[1:])

    with pytest.raises(ReviewRequired, match="refund_disputed"):
        confirm(world, WITH_TARGETS.model_copy(update={"contracts": contracts}))

    assert world.ledger.proven(CONFIRMED) is None
    assert world.run().state is RunState.REVIEW
    assert "refund_disputed" in world.run().review_reason
