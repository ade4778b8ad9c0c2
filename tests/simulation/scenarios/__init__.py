"""What is played of each registered workflow version: all that a workflow adds to the simulation.

A workflow has a module of its own name here with a function ``scenario``, which says for a version
how often it is played, what the outside holds, what may go wrong there, and what has to come of it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache, cached_property
from importlib import import_module
from typing import TYPE_CHECKING

from ledger.workflow import WorkflowDefinition
from tests.simulation.dice import Dice
from tests.simulation.faults import PLACES, SITES, Places, Sites
from tests.simulation.outside import Outside
from workflows.registry import REGISTRY

if TYPE_CHECKING:
    from tests.simulation.world import World


@dataclass(frozen=True, eq=False, kw_only=True)
class Scenario:
    """One workflow version, with everything that is outside of it."""

    definition: WorkflowDefinition
    share: int
    """How often it is played, beside the shares of the others."""

    outside: Callable[["World"], Outside]
    own_sites: Sites
    """Where its providers may fail, and how."""

    own_places: Places
    rare: Mapping[StrEnum, StrEnum] = field(default_factory=dict)
    """Kinds that are mostly another one instead, because they take long."""

    @cached_property
    def sites(self) -> Sites:
        """Return every place at which anything may go wrong in a run of it."""
        return {**SITES, **self.own_sites}

    @cached_property
    def places(self) -> Places:
        """Return the sites that are struck together."""
        return (*PLACES, *self.own_places)

    @cached_property
    def kinds(self) -> tuple[StrEnum, ...]:
        """Return every kind of fault that may strike a run of it."""
        return tuple(dict.fromkeys(kind for _, kinds in self.sites.values() for kind in kinds))


@cache
def scenarios() -> Mapping[str, Scenario]:
    """Return a scenario for every registered version. Raises ModuleNotFoundError without one."""
    return {version: _scenario(definition) for version, definition in REGISTRY.items()}


def scenario_of(seed: int) -> Scenario:
    """Return what a seed plays."""
    found = tuple(scenarios().values())
    left = Dice(seed, "scenario").random() * sum(one.share for one in found)
    for one in found:
        left -= one.share
        if left < 0:
            return one
    return found[-1]


@cache
def all_kinds() -> tuple[StrEnum, ...]:
    """Return every kind of fault that any scenario meets."""
    return tuple(dict.fromkeys(kind for one in scenarios().values() for kind in one.kinds))


def _scenario(definition: WorkflowDefinition) -> Scenario:
    module = import_module(f"{__name__}.{definition.name.replace('-', '_')}")
    found: Scenario = module.scenario(definition)
    return found
