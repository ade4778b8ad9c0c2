"""Refund the approved amount of the approved charge."""

from ledger.perform import perform_stage
from ledger.ports import Ports, TimeLeft
from ledger.task import Task
from runtime.stage import stage_handler
from workflows.cancel_refund.v3.contract import DEFINITION


def issue_refund(ports: Ports, time_left: TimeLeft, task: Task) -> None:
    """Return once the payment provider confirms the refund. Errors as ``perform``."""
    perform_stage(ports, time_left, DEFINITION, task, "issue_refund")


handler = stage_handler(issue_refund)
