"""The state that every doubt leads to: ask the providers, write nothing outside."""

from collections.abc import Mapping

from aws_lambda_powertools.utilities.typing import LambdaContext

from ledger.ports import Ports
from ledger.reconcile import Outcome, Standing, reconcile_run
from ledger.task import Task, check_owner
from ledger.update import load
from runtime.boundary import boundary
from runtime.log import log
from runtime.wiring import ports


def reconcile(ports: Ports, task: Task) -> Outcome:
    """Return where the run stands after its unsettled effects were looked up.

    Raises StaleExecution when a newer execution owns the run.
    """
    ledger = load(ports, task.run_id)
    if not ledger.run.is_open:
        return Outcome(standing=Standing.SETTLED)
    check_owner(ledger.run, task)
    return reconcile_run(ports, task.run_id, task.actor)


def handler(event: Mapping[str, object], _context: LambdaContext) -> dict[str, str | int]:
    """Return ``Wait`` with the seconds to wait, or ``Resume``."""
    with boundary("reconcile did not finish", stage="reconcile"):
        task = Task.model_validate(event)
        outcome = reconcile(ports(), task)
        where = "Wait" if outcome.standing is Standing.WAIT else "Resume"
        log("reconcile", run_id=task.run_id, next=where, wait_seconds=outcome.wait_seconds)
        return {"next": where, "wait_seconds": outcome.wait_seconds}
