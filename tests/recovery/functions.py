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
from tests.fakes.clock import FakeClock, FakeTimeLeft
from tests.recovery.states_language import read_definition
from workflows.cancel_refund.v4.contract import DEFINITION
from workflows.reconcile import reconcile

ROOT = Path(__file__).parents[2]
FUNCTION_MS = 60_000  # the time limit of every function here

type Function = Callable[[Ports, Any], Any]


@cache
def machine() -> Mapping[str, Any]:
    """Return the released state machine, checked."""
    return read_definition(ROOT / DEFINITION.asl_path)


def functions(clock: FakeClock) -> Mapping[str, Function]:
    """Return the functions by the names that the definition gives them."""
    stages = {stage.state_name: stage_function(clock, stage.name) for stage in DEFINITION.stages}
    return {"Resume": _resume, "Reconcile": _reconcile, **stages}


def stage_function(clock: FakeClock, name: str, ms_left: int = FUNCTION_MS) -> Function:
    """Return a stage of the version, invoked with ``ms_left`` until it is ended from outside."""
    stage = getattr(import_module(f"{DEFINITION.slice_package}.{name}"), name)

    def run(ports: Ports, payload: Any) -> Any:
        kind = WaitingTask if "task_token" in payload else Task
        task = kind.model_validate(payload)
        stage(ports, FakeTimeLeft(clock, clock.now_ms() + ms_left), task)
        return {"run_id": task.run_id, "epoch": task.epoch}

    return run


def _resume(ports: Ports, payload: Any) -> Any:
    return {"next": resume(ports, DEFINITION, Task.model_validate(payload))}


def _reconcile(ports: Ports, payload: Any) -> Any:
    outcome = reconcile(ports, Task.model_validate(payload))
    where = "Wait" if outcome.standing is Standing.WAIT else "Resume"
    return {"next": where, "wait_seconds": outcome.wait_seconds}
