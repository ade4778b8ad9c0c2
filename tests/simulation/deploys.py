"""Which versions are deployed and registered in one world, and a deploy in mid-run."""

from dataclasses import replace
from enum import StrEnum
from functools import cache
from typing import TYPE_CHECKING

from ledger.retired import retired_definition
from ledger.run import RunLedger
from ledger.versions import Migration, Versions
from ledger.workflow import WorkflowDefinition
from tests.simulation.dice import Dice
from tests.simulation.machine import machine
from tests.simulation.scenarios import Scenario
from workflows.counters import with_counters
from workflows.migrations import MIGRATIONS, VERSIONS
from workflows.registry import CURRENT, REGISTRY

if TYPE_CHECKING:
    from tests.simulation.world import World

SHARE_DEPLOYED = 0.7  # of the seeds whose version may go
SHARE_STILL_REGISTERED = 0.3  # the stack is deleted, and the entry stays
SHARE_TOLD = 0.5  # executions of a deleted machine whose end is told
# A run without any fault is written some thirty times; more may be its end already.
AFTER_COMMITS = (1, 45)
BACK_AFTER_MS = (60_000, 24 * 3_600_000)


class Deploy(StrEnum):
    """What a deploy does to the version that runs are open on."""

    MIGRATES = "version removed, its runs are moved"
    NO_WAY = "version removed, no migration leads on"
    ROLLED_BACK = "version removed, no migration leads on, and it comes back"
    OTHER_CONSEQUENCE = "version removed, the newer one does something else"
    UNPROVEN = "version removed, a checkpoint is left behind"


WITHOUT_MIGRATION = frozenset({Deploy.NO_WAY, Deploy.ROLLED_BACK})


class Deploys:
    """The versions of one world."""

    def __init__(self, world: "World", scenario: Scenario, focus: frozenset[StrEnum]) -> None:
        """Deploy every registered version, and decide what will happen to the one played."""
        self._world = world
        self._version = scenario.definition.version
        self._rng = Dice(world.seed, "deploy")
        self.kind = self._chosen(focus)
        bare, known = {**REGISTRY}, {**VERSIONS.definitions}
        migrations = () if self.kind in WITHOUT_MIGRATION else MIGRATIONS
        way = VERSIONS.way_on(self._version)
        if way is not None and self.kind is Deploy.OTHER_CONSEQUENCE:
            newer = way.new.version
            which = self._rng.within(0, len(way.new.approved_operations))
            bare[newer], known[newer] = _doing_else(newer, which)
        if self.kind is Deploy.UNPROVEN:
            migrations = tuple(map(_leaving_proof_behind, migrations))
        self.known = known
        """Every version there ever was, with what may be offered besides."""

        self.versions = Versions(definitions=known, migrations=migrations)
        """As a process that starts now is given them."""

        self.removed: set[str] = set()
        """Versions that were taken away once."""

        world.orchestrator.machines.update(
            {version: machine(definition) for version, definition in bare.items()}
        )
        low, high = AFTER_COMMITS
        self._left = low + int(self._rng.random() * (high - low)) if self.kind else 0

    def _chosen(self, focus: frozenset[StrEnum]) -> Deploy | None:
        kinds = [kind for kind in Deploy if not focus or kind in focus]
        wanted = bool(focus) or self._rng.random() < SHARE_DEPLOYED
        if not (wanted and kinds) or VERSIONS.way_on(self._version) is None:
            return None
        return self._world.plan.choose("deploy", kinds[int(self._rng.random() * len(kinds))])

    def definition_of(self, ledger: RunLedger) -> WorkflowDefinition:
        """Return the definition by which people see a run now."""
        return self.versions.definitions.get(ledger.run.workflow) or retired_definition(ledger)

    def to_open(self) -> WorkflowDefinition:
        """Return the version on which a run is opened now."""
        machines = self._world.orchestrator.machines
        name = self._version.rpartition("@")[0]
        version = self._version if self._version in machines else CURRENT[name].version
        return machines[version].definition

    def committed(self) -> None:
        """Count a change of the ledger. After some of them the deploy begins."""
        if self._left:
            self._left -= 1
            if not self._left:
                scheduler = self._world.scheduler
                scheduler.at(scheduler.now_ms, self._take_away)

    def _take_away(self) -> None:
        world, version, before = self._world, self._version, self.versions
        self.removed.add(version)
        gone = world.orchestrator.machines[version]
        if self._rng.random() >= SHARE_STILL_REGISTERED:
            left = {name: one for name, one in before.definitions.items() if name != version}
            self.versions = replace(before, definitions=left)
        world.note(f"deploy: {self.kind}", None)
        world.forget_spare_processes()
        world.orchestrator.delete(version, tell=self._rng.random() < SHARE_TOLD)

        def comes_back() -> None:
            self.versions = before
            world.forget_spare_processes()
            world.orchestrator.machines[version] = gone

        if self.kind is Deploy.ROLLED_BACK:
            delay_ms = self._rng.within(*BACK_AFTER_MS)
            world.scheduler.at(world.scheduler.now_ms + delay_ms, comes_back, outside=True)


@cache
def _doing_else(version: str, which: int) -> tuple[WorkflowDefinition, WorkflowDefinition]:
    """Return a version one of whose writes has another consequence, bare and as it is known."""
    definition = REGISTRY[version]
    other = definition.approved_operations[which]
    operations = tuple(
        one.model_copy(update={"moves_money": not one.moves_money}) if one == other else one
        for one in definition.operations
    )
    changed = definition.model_copy(update={"operations": operations})
    return changed, with_counters(changed)


def _leaving_proof_behind(migration: Migration) -> Migration:
    """Return a migration that does not carry the first claim that another system proves."""
    contracts = REGISTRY[migration.from_version].contracts
    first = next(found.checkpoint for found in contracts if found.owner != "ledger")
    return migration.model_copy(update={"checkpoints": {**migration.checkpoints, first: None}})
