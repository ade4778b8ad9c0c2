"""What is played of each registered workflow version when everything fails in turn.

A workflow has a module of its own name here with a function ``scenario``, which says for a version
what a customer wants, what the outside holds, and what has to come of it. All else is the same for
every workflow, so this is all that one adds.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from ledger.run import RunLedger
from ledger.workflow import WorkflowDefinition
from tests.recovery.outside import Outside
from workflows.registry import CURRENT, REGISTRY

if TYPE_CHECKING:
    from tests.recovery.world import World

type Wanted = Mapping[str, str | int]
"""The request of a run."""

# Most named tests are about what this workflow does.
USUAL = "cancel-refund"


@dataclass(frozen=True, eq=False, kw_only=True)
class Scenario:
    """One workflow version, with a customer who wants a run of it."""

    definition: WorkflowDefinition
    wanted: Wanted
    outside: type[Outside]
    """The providers, and what they hold before anybody asks."""

    ports: frozenset[str]
    """Ports that an undisturbed run calls: without one of them, less would be covered than it
    seems."""

    check: Callable[["World", RunLedger], None]
    """Raises AssertionError unless that holds of a run which only this workflow promises."""

    check_shown: Callable[[Mapping[str, Any], Wanted], None]
    """Raises AssertionError unless the payload shown for approval is what was wanted."""

    @property
    def is_current(self) -> bool:
        """Return whether new runs are opened on this version."""
        return CURRENT.get(self.definition.name) is self.definition


@cache
def scenarios() -> Mapping[str, Scenario]:
    """Return a scenario for every registered version. Raises ModuleNotFoundError without one."""
    return {version: _scenario(definition) for version, definition in REGISTRY.items()}


def usual() -> Scenario:
    """Return the scenario of most named tests."""
    return scenarios()[CURRENT[USUAL].version]


def _scenario(definition: WorkflowDefinition) -> Scenario:
    module = import_module(f"{__name__}.{definition.name.replace('-', '_')}")
    found: Scenario = module.scenario(definition)
    return found
