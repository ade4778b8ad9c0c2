"""Mail the owner a link to the page on which the archive is fetched."""

from ledger.perform import perform_stage
from ledger.ports import Ports, TimeLeft
from ledger.task import Task
from runtime.stage import stage_handler
from workflows.project_export.v1.contract import DEFINITION


def deliver_link(ports: Ports, time_left: TimeLeft, task: Task) -> None:
    """Return once the mail service has accepted the link. Errors as ``perform``."""
    perform_stage(ports, time_left, DEFINITION, task, "deliver_link")


handler = stage_handler(deliver_link)
