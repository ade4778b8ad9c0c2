"""Say where a run stands, from what the ledger proves and from nothing else."""

from ledger.approve import lapse_approval
from ledger.draft import Draft
from ledger.event import EventKind
from ledger.instance import is_done, is_stuck
from ledger.ports import Ports
from ledger.run import RunLedger
from ledger.task import Task, check_owner, check_version
from ledger.transitions import RunState
from ledger.update import update
from ledger.workflow import WorkflowDefinition

RECONCILE = "Reconcile"
REVIEW = "Review"
DONE = "Done"


def next_state(definition: WorkflowDefinition, ledger: RunLedger) -> str:
    """Return the name of the state that the run's execution has to go to."""
    if not ledger.run.is_open:
        return DONE
    if ledger.run.state is RunState.REVIEW:
        return REVIEW
    if ledger.counter_approval() is not None or ledger.undone_effects():
        return REVIEW  # an effect is taken back: that is no part of the normal way
    if ledger.unsettled_effects():
        return RECONCILE
    asked = ledger.pending_approval() if ledger.run.state is RunState.AWAITING_APPROVAL else None
    for stage in definition.stages:
        # An earlier yes proves nothing while somebody is asked anew: the execution waits with them.
        asks_anew = asked is not None and asked.checkpoint == stage.checkpoint
        if asks_anew or not is_done(definition, ledger, stage):
            return stage.state_name
    return DONE


def resume(ports: Ports, definition: WorkflowDefinition, task: Task) -> str:
    """Return the state to go to, after noting that the execution has reported in.

    A run whose every checkpoint is proven is completed here, and only here.

    Raises StaleExecution when a newer execution owns the run.
    """

    def decide(draft: Draft) -> None:
        run = draft.ledger.run
        check_version(run, definition.version)
        if run.epoch == task.epoch and not run.is_open:
            return  # a late or repeated call on a closed run changes nothing
        check_owner(run, task)
        if not run.execution_started:
            draft.set_run(execution_started=True)
            draft.note(EventKind.EXECUTION_RESUMED, "the execution asked where the run stands")
        if lapse_approval(draft) or draft.ledger.counter_approval() is not None:
            return
        stuck = [found for found in draft.ledger.effects if is_stuck(draft.ledger, found)]
        if stuck and run.state is RunState.ACTIVE:
            draft.send_to_review(f"{stuck[0].operation} is {stuck[0].state}")
            return
        undone = draft.ledger.undone_effects()
        if undone and run.state is RunState.ACTIVE:
            draft.send_to_review(f"{undone[0].operation} was done and taken back")
            return
        if run.state is RunState.ACTIVE and next_state(definition, draft.ledger) == DONE:
            draft.close_run(
                RunState.COMPLETED, EventKind.RUN_COMPLETED, "every checkpoint is proven"
            )

    return next_state(definition, update(ports, task.run_id, task.actor, decide))
