"""Which versions there are, and how the runs of one go on by another. Data, and no code of any."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from pydantic import Field, model_validator

from ledger.record import Record
from ledger.workflow import WorkflowDefinition


class Migration(Record):
    """How a run of one version goes on by another: the same work, proven by the same records.

    A write keeps its name: its id and its mark at the provider follow from that.
    """

    from_version: str
    to_version: str
    reason: str = Field(min_length=1)
    """Why, for people: it is in the trail of every run that is moved."""

    checkpoints: dict[str, str | None] = Field(default_factory=dict)
    """A checkpoint of the old version to what it becomes in the new one; None for one that is left
    behind. One that is not listed keeps its name."""

    @model_validator(mode="after")
    def _holds_together(self) -> "Migration":
        """Refuse what could not be meant: another workflow, or two proofs of one claim."""
        names = [found for found in self.checkpoints.values() if found is not None]
        old, new = (found.rpartition("@")[0] for found in (self.from_version, self.to_version))
        if old != new or self.from_version == self.to_version:
            raise ValueError("a migration leads to another version of the same workflow")
        if len(set(names)) != len(names):
            raise ValueError("two checkpoints become one: which of them would prove it?")
        return self

    def misfits(self, old: WorkflowDefinition, new: WorkflowDefinition) -> list[str]:
        """Return what the migration names that its two versions do not have."""
        known = [found.checkpoint for found in old.contracts]
        wanted = {found.checkpoint for found in new.contracts}
        became = [self.checkpoints.get(name, name) for name in known]
        return [
            *(f"two become {name}" for name in set(became) - {None} if became.count(name) > 1),
            *(f"{old.version} has no {name}" for name in self.checkpoints if name not in known),
            *(
                f"{new.version} has no {name}"
                for name in self.checkpoints.values()
                if name is not None and name not in wanted
            ),
        ]


class WayOn(NamedTuple):
    """How a run goes on whose version it cannot go on by."""

    old: WorkflowDefinition | None
    """None when the version is no longer registered."""

    new: WorkflowDefinition
    migration: Migration


@dataclass(frozen=True)
class Versions:
    """The registered versions and migrations, as a process that may move runs is given them."""

    definitions: Mapping[str, WorkflowDefinition] = field(default_factory=dict)
    migrations: tuple[Migration, ...] = ()

    def definition(self, version: str) -> WorkflowDefinition | None:
        """Return the registered version, None when there is none of that name."""
        return self.definitions.get(version)

    def way_on(self, version: str) -> WayOn | None:
        """Return the way to the newest registered version, None when no migration leads to one."""
        ways = [
            WayOn(self.definition(version), self.definitions[found.to_version], found)
            for found in self.migrations
            if found.from_version == version and found.to_version in self.definitions
        ]
        return max(ways, key=lambda way: way.new.number, default=None)
