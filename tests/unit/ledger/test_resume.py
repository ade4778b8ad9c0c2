"""Where a run stands: from checkpoints and effects alone."""

import pytest

from ledger.approve import Decision
from ledger.errors import EffectUnknown, LedgerMoved, ReconcileFirst, StaleExecution
from ledger.event import EventKind
from ledger.provider import RecordStatus
from ledger.resume import next_state
from ledger.task import Task
from ledger.transitions import EffectState, RunState
from tests.builders import a_checkpoint
from tests.unit.ledger.sample import NO_ANSWER, REFUND_ID, RUN_ID, a_refund
from tests.unit.ledger.scripted_provider import Step
from tests.unit.ledger.support import a_world, an_approved_world, given


def test_a_new_run_goes_to_its_first_stage() -> None:
    assert a_world().resume() == "AskCustomer"


def test_a_run_goes_to_the_first_stage_whose_claim_is_not_proven() -> None:
    world = an_approved_world()

    assert world.resume() == "IssueRefund"
    world.perform()
    assert world.resume() == "SendReceipt"


def test_a_run_goes_back_to_a_gap_whatever_was_proven_after_it() -> None:
    world = a_world()
    given(world, a_checkpoint(name="receipt_sent", effect_id=None))

    assert world.resume() == "AskCustomer"


@pytest.mark.parametrize(
    ("made", "state"),
    [(RecordStatus.DONE, EffectState.UNKNOWN), (RecordStatus.PENDING, EffectState.ACCEPTED)],
)
def test_a_run_that_owes_an_answer_is_reconciled_first(
    made: RecordStatus, state: EffectState
) -> None:
    world = an_approved_world()
    fault = NO_ANSWER if state is EffectState.UNKNOWN else None
    world.payments.script = [Step(made, fault)]
    with pytest.raises(ReconcileFirst):
        world.perform()

    assert world.effect().state is state
    assert world.resume() == "Reconcile"


def test_a_worker_in_mid_call_is_not_overtaken_by_its_successor() -> None:
    world = an_approved_world()
    given(world, a_refund(EffectState.ATTEMPTING))

    assert world.resume() == "Reconcile"


def test_a_run_is_completed_only_when_every_claim_is_proven() -> None:
    world = an_approved_world()
    world.perform()
    assert world.run().state is RunState.ACTIVE
    world.perform("receipt")
    assert world.run().state is RunState.ACTIVE

    assert world.resume() == "Done"

    assert world.run().state is RunState.COMPLETED
    assert world.run().closed_at_ms == world.clock.now_ms()
    assert world.run().due_at_ms is None


def test_a_completed_run_resumed_again_changes_nothing() -> None:
    world = an_approved_world()
    world.perform()
    world.perform("receipt")
    world.resume()
    before = world.events

    assert world.resume() == "Done"

    assert world.events == before


def test_a_claim_whose_effect_was_contradicted_is_not_proven_any_more() -> None:
    world = an_approved_world()
    world.perform()
    given(world, world.effect().model_copy(update={"state": EffectState.PLANNED}))

    assert world.resume() == "IssueRefund"


def test_a_declined_run_is_done() -> None:
    world = a_world()
    world.ask()
    world.decide(Decision.DECLINE)

    assert world.resume() == "Done"


@pytest.mark.parametrize(
    "state", [EffectState.REJECTED, EffectState.CONFLICT, EffectState.CONTRADICTED]
)
def test_an_effect_that_a_person_has_to_look_at_sends_the_run_to_review(
    state: EffectState,
) -> None:
    world = an_approved_world()
    given(world, a_refund(state))

    assert world.resume() == "Review"

    assert world.run().state is RunState.REVIEW
    assert state in world.run().review_reason


def test_a_run_in_review_stays_there() -> None:
    world = an_approved_world()
    world.change(lambda draft: draft.send_to_review("a person asked"))

    assert world.resume() == "Review"


def test_a_run_that_waits_for_a_person_goes_back_to_waiting() -> None:
    world = a_world()
    world.ask()

    assert world.resume() == "AskCustomer"


def test_an_execution_that_reports_in_is_noted_once() -> None:
    world = a_world(execution_started=False)

    world.resume()
    world.resume()

    assert world.run().execution_started
    assert world.kinds.count(EventKind.EXECUTION_RESUMED) == 1


@pytest.mark.parametrize("epoch", [0, 2])
def test_an_execution_that_does_not_own_the_run_is_stopped(epoch: int) -> None:
    world = a_world()

    with pytest.raises(StaleExecution):
        world.resume(Task(run_id=RUN_ID, epoch=epoch))


def test_an_older_execution_of_a_closed_run_is_stopped_too() -> None:
    world = a_world()
    given(world, epoch=2, state=RunState.CLOSED)

    with pytest.raises(StaleExecution):
        world.resume()


def test_a_run_is_not_carried_on_by_another_version() -> None:
    world = an_approved_world()
    world.definition = world.definition.model_copy(update={"number": 3})
    before = world.events

    for act in (world.resume, world.perform, world.ask):
        with pytest.raises(StaleExecution, match="belongs to give-back@2"):
            act()

    assert world.payments.calls == []
    assert world.events == before


def test_a_run_fenced_between_read_and_write_is_not_resumed() -> None:
    world = a_world(execution_started=False)
    world.store.rivals = [lambda: given(world, epoch=2)]

    with pytest.raises(StaleExecution):
        world.resume()


def test_a_ledger_that_always_moves_is_given_up_after_a_bounded_number_of_tries() -> None:
    world = a_world(execution_started=False)
    world.store.failure = LedgerMoved("somebody was faster")

    with pytest.raises(LedgerMoved):
        world.resume()


def test_proof_found_by_a_read_is_all_that_the_next_stage_needs() -> None:
    world = an_approved_world()
    world.payments.script = [Step(RecordStatus.DONE, NO_ANSWER)]
    with pytest.raises(EffectUnknown):
        world.perform()
    world.pass_seconds(60)

    world.reconcile()

    assert next_state(world.definition, world.ledger) == "SendReceipt"
    assert world.ledger.proven("refund_confirmed") is not None
    assert world.effect(REFUND_ID).state is EffectState.CONFIRMED
