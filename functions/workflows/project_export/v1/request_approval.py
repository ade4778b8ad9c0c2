"""Ask the customer for one yes to an archive of exactly this project."""

from ledger.approve import request_approval as ask
from ledger.ports import Ports, TimeLeft
from ledger.task import WaitingTask
from runtime.stage import waiting_stage_handler
from workflows.project_export.v1.contract import DEFINITION


def request_approval(ports: Ports, _time_left: TimeLeft, task: WaitingTask) -> None:
    """Write the request down, with the token that wakes this execution."""
    ask(ports, DEFINITION, task, "request_approved", task.task_token)


handler = waiting_stage_handler(request_approval)
