"""The state machines of every registered version, and ways of spoiling a copy of one."""

import copy
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from ledger.workflow import Stage, WorkflowDefinition

ROOT = Path(__file__).parents[3]
INVOKE = "arn:aws:states:::lambda:invoke"

type Machine = dict[str, Any]
type Spoil = Callable[[WorkflowDefinition, Machine], None]
type Path_ = tuple[str | int, ...]


def asl_of(definition: WorkflowDefinition) -> str:
    """Return the state machine of a version as it is checked in."""
    return (ROOT / definition.asl_path).read_text(encoding="utf-8")


def spoilt(definition: WorkflowDefinition, spoil: Spoil) -> str:
    """Return the state machine of a version after ``spoil`` has changed it."""
    machine: Machine = json.loads(asl_of(definition))
    spoil(definition, machine)
    return json.dumps(machine)


def waiting(definition: WorkflowDefinition) -> Stage:
    """Return the stage that waits for a person."""
    return next(stage for stage in definition.stages if stage.rings_doorbell)


def writes(definition: WorkflowDefinition) -> list[Stage]:
    """Return the stages that write to the outside, in their order."""
    return [stage for stage in definition.stages if stage.operation is not None]


def places(part: Any, path: Path_ = ()) -> Iterator[Path_]:
    """Yield the path to every value in ``part``, the innermost included."""
    if path:
        yield path
    members = part.items() if isinstance(part, dict) else enumerate(part)
    for key, value in members:
        if isinstance(value, dict | list):
            yield from places(value, (*path, key))
        else:
            yield (*path, key)


def holder(machine: Machine, path: Path_) -> Any:
    """Return what holds the value at ``path``."""
    found: Any = machine
    for key in path[:-1]:
        found = found[key]
    return found


def without(machine: Machine, path: Path_) -> Machine:
    """Return a copy of ``machine`` in which the value at ``path`` is missing."""
    changed = copy.deepcopy(machine)
    del holder(changed, path)[path[-1]]
    return changed


def replaced(machine: Machine, path: Path_, value: Any) -> Machine:
    """Return a copy of ``machine`` with another value at ``path``."""
    changed = copy.deepcopy(machine)
    holder(changed, path)[path[-1]] = value
    return changed
