"""Turn the renewal off in the billing system."""

from ledger.perform import perform_stage
from ledger.ports import Ports, TimeLeft
from ledger.task import Task
from runtime.stage import stage_handler
from workflows.cancel_refund.v3.contract import DEFINITION


def cancel_renewal(ports: Ports, time_left: TimeLeft, task: Task) -> None:
    """Return once the billing system shows the renewal off. Errors as ``perform``."""
    perform_stage(ports, time_left, DEFINITION, task, "cancel_renewal")


handler = stage_handler(cancel_renewal)
