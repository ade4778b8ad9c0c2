"""Give a run an execution: decided in the ledger first, started by name, harmless if repeated."""

from ledger.draft import Draft
from ledger.event import Actor, EventKind
from ledger.ports import Ports, StartOutcome
from ledger.run import RunLedger
from ledger.transitions import RunState
from ledger.update import load, update

EXECUTED_STATES = frozenset({RunState.ACTIVE, RunState.AWAITING_APPROVAL})


def start_execution(ports: Ports, run_id: str, actor: Actor) -> StartOutcome | None:
    """Start the execution that the ledger assigned, at most once; None when none is wanted.

    Raises RetryLater when the orchestrator gave no answer; repeating the start is safe.
    """
    run = load(ports, run_id).run
    if run.state not in EXECUTED_STATES:
        return None
    outcome = ports.executions.start(run.workflow, run.execution_name, run_id, run.epoch)
    if outcome is StartOutcome.NO_SUCH_VERSION:
        _stop_without_version(ports, run_id, actor)
    return outcome


def replace_execution(
    ports: Ports, run_id: str, ended_epoch: int, reason: str, actor: Actor
) -> StartOutcome | None:
    """Assign and start a new execution for a run whose execution ``ended_epoch`` is gone.

    The older one is fenced by the new epoch, whatever it may still do. A notice about an epoch
    that was replaced already changes nothing. Returns None when nothing was started.
    """

    def decide(draft: Draft) -> None:
        run = draft.ledger.run
        if run.epoch != ended_epoch or run.state not in EXECUTED_STATES:
            return
        if run.epoch >= run.max_executions:
            draft.send_to_review(f"{run.max_executions} executions ended without finishing")
            return
        # Counted before the work, so that a crash loop ends.
        draft.set_run(epoch=run.epoch + 1, execution_started=False)
        draft.note(
            EventKind.EXECUTION_ASSIGNED,
            reason,
            subject=draft.ledger.run.execution_name,
            prior=run.execution_name,
            state=draft.ledger.run.execution_name,
        )

    replaced = update(ports, run_id, actor, decide)
    if replaced.run.epoch != ended_epoch + 1:
        return None
    return start_execution(ports, run_id, actor)


def _stop_without_version(ports: Ports, run_id: str, actor: Actor) -> RunLedger:
    def decide(draft: Draft) -> None:
        draft.send_to_review(f"no compatible version: {draft.ledger.run.workflow} is not deployed")

    return update(ports, run_id, actor, decide)
