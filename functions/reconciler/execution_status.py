"""A status-change event: an execution failed, timed out or was aborted. Give its run another."""

import re
from typing import Annotated

from aws_lambda_powertools.utilities.typing import LambdaContext
from pydantic import BaseModel, ConfigDict, Field

from ledger.event import Actor
from ledger.execution import replace_execution
from ledger.ports import Ports, StartOutcome
from runtime.boundary import boundary
from runtime.log import log
from runtime.wiring import ports
from workflows.migrations import with_versions

EXECUTION_NAME = re.compile(r"^(run_[a-z2-7]+)-e([0-9]{1,6})$")
NOTICE = Actor(kind="reconciler", actor_id="execution-status")


class ExecutionDetail(BaseModel):
    """The part of the event's ``detail`` that is read (Step Functions events documentation)."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    name: Annotated[str, Field(max_length=80)]
    status: str


def handle_ended(ports: Ports, detail: ExecutionDetail) -> StartOutcome | None:
    """Return what became of the new execution; None when the run needs none.

    An execution whose name is not ours, or whose epoch was replaced already, changes nothing.
    """
    matched = EXECUTION_NAME.match(detail.name)
    if matched is None:
        return None
    run_id, epoch = matched.group(1), int(matched.group(2))
    reason = f"execution {detail.name} ended: {detail.status}"
    return replace_execution(ports, run_id, epoch, reason, NOTICE)


def handler(event: dict[str, object], _context: LambdaContext) -> dict[str, str]:
    """Return what was done, for the log only."""
    with boundary("the ended execution was not handled", stage="execution_status"):
        detail = ExecutionDetail.model_validate(event["detail"])
        outcome = handle_ended(with_versions(ports()), detail)
        matched = EXECUTION_NAME.match(detail.name)
        log(
            "execution ended",
            run_id=matched.group(1) if matched else "",
            status=detail.status,
            outcome=outcome or "nothing to do",
        )
        return {"outcome": outcome or "nothing to do"}
