"""The first state of every execution: ask the ledger where the run stands."""

from collections.abc import Mapping

from aws_lambda_powertools.utilities.typing import LambdaContext

from ledger.resume import resume
from ledger.task import Task
from runtime.boundary import boundary
from runtime.log import log
from runtime.wiring import ports
from workflows.definition import deployed_definition


def handler(event: Mapping[str, object], _context: LambdaContext) -> dict[str, str]:
    """Return the name of the state to go to."""
    with boundary("resume did not finish", stage="resume"):
        task = Task.model_validate(event)
        where = resume(ports(), deployed_definition(), task)
        log("resume", run_id=task.run_id, epoch=task.epoch, next=where)
        return {"next": where}
