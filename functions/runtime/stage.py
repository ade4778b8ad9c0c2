"""Make Lambda handlers out of stage functions: parse ids, bind the log, join the ports."""

from collections.abc import Callable, Mapping
from typing import Protocol

from aws_lambda_powertools.utilities.typing import LambdaContext

from ledger.ports import Ports, TimeLeft
from ledger.task import Task, WaitingTask
from runtime.boundary import boundary
from runtime.log import log
from runtime.wiring import ports, time_left

type Handler = Callable[[Mapping[str, object], LambdaContext], dict[str, str | int]]


class StageFunction[T: Task](Protocol):
    """A stage: it acts through the ports and returns nothing; the ledger holds the result."""

    def __call__(self, ports: Ports, time_left: TimeLeft, task: T, /) -> None:
        """Run the stage once."""


def stage_handler(stage: StageFunction[Task]) -> Handler:
    """Return the Lambda handler of a stage."""
    return _handler(stage, Task)


def waiting_stage_handler(stage: StageFunction[WaitingTask]) -> Handler:
    """Return the Lambda handler of a stage that waits for a person."""
    return _handler(stage, WaitingTask)


def _handler[T: Task](stage: StageFunction[T], task_type: type[T]) -> Handler:
    name = getattr(stage, "__name__", "stage")

    def handler(event: Mapping[str, object], context: LambdaContext) -> dict[str, str | int]:
        with boundary(f"{name} did not finish", stage=name):
            task = task_type.model_validate(event)
            log(f"{name} begins", run_id=task.run_id, epoch=task.epoch, stage=name)
            stage(ports(), time_left(context), task)
            log(f"{name} ends", run_id=task.run_id, epoch=task.epoch, stage=name)
            return {"run_id": task.run_id, "epoch": task.epoch}

    return handler
