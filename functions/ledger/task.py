"""What an execution hands to a stage: ids only. Everything else is asked of the ledger."""

from functools import lru_cache

from ledger.errors import ReviewRequired, StaleExecution
from ledger.event import Actor
from ledger.record import Record
from ledger.run import Run, RunLedger
from ledger.transitions import RunState


class Task(Record):
    """The input of every state."""

    run_id: str
    epoch: int

    @property
    def actor(self) -> Actor:
        """Return the execution as an actor."""
        return _execution(self.run_id, self.epoch)


# A stage asks several times who it is, and a process works on few executions.
@lru_cache(maxsize=128)
def _execution(run_id: str, epoch: int) -> Actor:
    return Actor(kind="execution", actor_id=f"{run_id}-e{epoch}")


def check_owner(run: Run, task: Task) -> None:
    """Raise StaleExecution when the run was given to a newer execution, or is closed."""
    if run.epoch != task.epoch:
        raise StaleExecution(f"Execution {task.epoch} of {run.run_id} was replaced by {run.epoch}.")
    if not run.is_open:
        raise StaleExecution(f"Run {run.run_id} is {run.state}; nothing more may be done.")


def check_version(run: Run, version: str) -> None:
    """Raise StaleExecution when the code that acts is not of the version that the run is bound to.

    Nothing is written then: the version's own executions go on.
    """
    if run.workflow != version:
        raise StaleExecution(f"Run {run.run_id} belongs to {run.workflow}, not to {version}.")


def check_may_act(ledger: RunLedger, task: Task) -> None:
    """Raise StaleExecution or ReviewRequired unless this execution may act for the run now."""
    check_owner(ledger.run, task)
    if ledger.run.state is RunState.REVIEW:
        raise ReviewRequired(f"Run {task.run_id} is in review: {ledger.run.review_reason}")


class WaitingTask(Task):
    """The input of a state that waits for a person."""

    task_token: str
