"""Mail the receipt, quoting the recorded refund."""

from ledger.perform import perform_stage
from ledger.ports import Ports, TimeLeft
from ledger.task import Task
from runtime.stage import stage_handler
from workflows.cancel_refund.v3.contract import DEFINITION


def send_receipt(ports: Ports, time_left: TimeLeft, task: Task) -> None:
    """Return once the mail service has accepted the receipt. Errors as ``perform``."""
    perform_stage(ports, time_left, DEFINITION, task, "send_receipt")


handler = stage_handler(send_receipt)
