"""The released state machine, read once into tables that are fast to walk."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from tests.simulation.dice import Dice
from workflows.cancel_refund.v4.contract import DEFINITION

ROOT = Path(__file__).parents[2]
COMPARED = re.compile(r"\$states\.input\.next = '(\w+)'")
WAITS_FOR_TOKEN = "waitForTaskToken"


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


@cache
def machine() -> Mapping[str, State]:
    """Return the states of the released version by name."""
    read = json.loads((ROOT / DEFINITION.asl_path).read_text())
    return {name: _state(name, found) for name, found in read["States"].items()}


@cache
def time_limit_ms() -> int:
    """Return how long one execution may last."""
    read = json.loads((ROOT / DEFINITION.asl_path).read_text())
    return int(read["TimeoutSeconds"]) * 1000


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
