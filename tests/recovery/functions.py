"""The functions that a state machine calls, each as its handler shapes it, over given ports."""

from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from ledger.ports import Ports
from ledger.reconcile import Standing
from ledger.resume import resume
from ledger.task import Task, WaitingTask
from ledger.workflow import WorkflowDefinition
from tests.fakes.clock import FakeClock, FakeTimeLeft
from tests.recovery.states_language import read_definition
from workflows.reconcile import reconcile

ROOT = Path(__file__).parents[2]
FUNCTION_MS = 60_000  # the time limit of every function here that is no stage

type Function = Callable[[Ports, Any], Any]


@cache
def machine(asl_path: str) -> Mapping[str, Any]:
    """Return a released state machine, checked."""
    return read_definition(ROOT / asl_path)


def functions(definition: WorkflowDefinition, clock: FakeClock) -> Mapping[str, Function]:
    """Return the functions of a version by the names that its state machine gives them."""
    stages = {
        stage.state_name: stage_function(definition, clock, stage.name)
        for stage in definition.stages
    }
    return {"Resume": _resume(definition), "Reconcile": _reconcile, **stages}


def limit_ms(definition: WorkflowDefinition, state_name: str) -> int:
    """Return how long one invocation of the function behind a state may last."""
    limits = {stage.state_name: stage.timeout_seconds * 1000 for stage in definition.stages}
    return limits.get(state_name, FUNCTION_MS)


def stage_function(
    definition: WorkflowDefinition, clock: FakeClock, name: str, ms_left: int | None = None
) -> Function:
    """Return a stage of the version, invoked with ``ms_left`` until it is ended from outside.

    That is its whole time limit, where nothing else is said.
    """
    allowed_ms = definition.stage(name).timeout_seconds * 1000 if ms_left is None else ms_left
    stage = getattr(import_module(f"{definition.slice_package}.{name}"), name)

    def run(ports: Ports, payload: Any) -> Any:
        kind = WaitingTask if "task_token" in payload else Task
        task = kind.model_validate(payload)
        stage(ports, FakeTimeLeft(clock, clock.now_ms() + allowed_ms), task)
        return {"run_id": task.run_id, "epoch": task.epoch}

    return run


def _resume(definition: WorkflowDefinition) -> Function:
    def run(ports: Ports, payload: Any) -> Any:
        return {"next": resume(ports, definition, Task.model_validate(payload))}

    return run


def _reconcile(ports: Ports, payload: Any) -> Any:
    outcome = reconcile(ports, Task.model_validate(payload))
    where = "Wait" if outcome.standing is Standing.WAIT else "Resume"
    return {"next": where, "wait_seconds": outcome.wait_seconds}
