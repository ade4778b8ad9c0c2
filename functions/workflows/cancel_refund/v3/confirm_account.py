"""Confirm the account: the customer, the plan and the charge are as the request says."""

from ledger.confirm import confirm_targets
from ledger.ports import Ports, TimeLeft
from ledger.task import Task
from runtime.stage import stage_handler
from workflows.cancel_refund.v3.contract import DEFINITION


def confirm_account(ports: Ports, _time_left: TimeLeft, task: Task) -> None:
    """Return once the targets are confirmed. Errors as ``confirm_targets``."""
    confirm_targets(ports, DEFINITION, task, "account_confirmed")


handler = stage_handler(confirm_account)
