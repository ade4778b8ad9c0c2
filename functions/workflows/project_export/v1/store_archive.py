"""Store the archive of the approved project."""

from ledger.perform import perform_stage
from ledger.ports import Ports, TimeLeft
from ledger.task import Task
from runtime.stage import stage_handler
from workflows.project_export.v1.contract import DEFINITION


def store_archive(ports: Ports, time_left: TimeLeft, task: Task) -> None:
    """Return once the stored archive was read back. Errors as ``perform``."""
    perform_stage(ports, time_left, DEFINITION, task, "store_archive")


handler = stage_handler(store_archive)
