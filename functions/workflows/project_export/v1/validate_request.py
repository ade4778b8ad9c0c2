"""Validate the request: the project is there, and the customer owns it."""

from ledger.confirm import confirm_targets
from ledger.ports import Ports, TimeLeft
from ledger.task import Task
from runtime.stage import stage_handler
from workflows.project_export.v1.contract import DEFINITION


def validate_request(ports: Ports, _time_left: TimeLeft, task: Task) -> None:
    """Return once project and owner are confirmed. Errors as ``confirm_targets``."""
    confirm_targets(ports, DEFINITION, task, "request_validated")


handler = stage_handler(validate_request)
