"""The released state machines, read once into tables that are fast to walk."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import FunctionType
from typing import Any

from ledger.workflow import WorkflowDefinition
from tests.simulation.dice import Dice

ROOT = Path(__file__).parents[2]
COMPARED = re.compile(r"\$states\.input\.next = '(\w+)'")
WAITS_FOR_TOKEN = "waitForTaskToken"

type StageFunction = Callable[..., object]


@dataclass(frozen=True)
class Retrier:
    """When a failed task is tried again."""

    errors: frozenset[str]
    first_ms: int
    backoff: float
    most: int
    longest_ms: int

    def pause_ms(self, tries: int, rng: Dice) -> int:
        """Return how long to wait, with full jitter."""
        return int(rng.random() * min(self.first_ms * self.backoff**tries, self.longest_ms))


@dataclass(frozen=True)
class State:
    """One state of the machine."""

    name: str
    kind: str
    timeout_ms: int
    retriers: tuple[Retrier, ...]
    catchers: tuple[tuple[frozenset[str], str], ...]
    choices: Mapping[str, str]
    seconds: int | None
    following: str
    waits_for_token: bool

    def caught_by(self, error: str) -> str | None:
        """Return the state that an error leads to, None when it ends the execution."""
        for errors, following in self.catchers:
            if error in errors or "States.ALL" in errors:
                return following
        return None


class Machine:
    """The state machine of one version, with the functions of its own stages."""

    def __init__(self, definition: WorkflowDefinition) -> None:
        """Read the machine; find each stage's function in the version's slice, by its name."""
        read = json.loads((ROOT / definition.asl_path).read_text())
        self.definition = definition
        self.time_limit_ms = int(read["TimeoutSeconds"]) * 1000
        """How long one execution may last."""

        self.states: Mapping[str, State] = {
            name: _state(name, found) for name, found in read["States"].items()
        }
        self.limits_ms: Mapping[str, int] = {
            stage.state_name: stage.timeout_seconds * 1000 for stage in definition.stages
        }
        """State to how long its function may run."""

        self._stages = {
            stage.state_name: getattr(
                import_module(f"{definition.slice_package}.{stage.name}"), stage.name
            )
            for stage in definition.stages
        }

    def stage(self, state: str) -> StageFunction:
        """Return the function of a stage, acting by this machine's definition."""
        found: FunctionType = self._stages[state]
        if found.__globals__["DEFINITION"] is self.definition:
            return found
        # The same code over another definition: a released version is never the one to change.
        return FunctionType(
            found.__code__, {**found.__globals__, "DEFINITION": self.definition}, found.__name__
        )


_machines: dict[int, Machine] = {}
"""Id of a definition to its machine, which keeps the definition alive."""


def machine(definition: WorkflowDefinition) -> Machine:
    """Return the machine of a definition, read once."""
    found = _machines.get(id(definition))
    if found is None:
        found = _machines[id(definition)] = Machine(definition)
    return found


def _state(name: str, found: Mapping[str, Any]) -> State:
    seconds = found.get("Seconds")
    return State(
        name=name,
        kind=found["Type"],
        timeout_ms=found.get("TimeoutSeconds", 0) * 1000,
        retriers=tuple(
            Retrier(
                errors=frozenset(retry["ErrorEquals"]),
                first_ms=retry.get("IntervalSeconds", 1) * 1000,
                backoff=retry.get("BackoffRate", 2),
                most=retry.get("MaxAttempts", 3),
                longest_ms=retry.get("MaxDelaySeconds", 3600) * 1000,
            )
            for retry in found.get("Retry", [])
        ),
        catchers=tuple(
            (frozenset(catch["ErrorEquals"]), catch["Next"]) for catch in found.get("Catch", [])
        ),
        choices={
            COMPARED.findall(choice["Condition"])[0]: choice["Next"]
            for choice in found.get("Choices", [])
        },
        seconds=seconds if isinstance(seconds, int) else None,
        following=found.get("Next", found.get("Default", "")),
        waits_for_token=WAITS_FOR_TOKEN in found.get("Resource", ""),
    )
