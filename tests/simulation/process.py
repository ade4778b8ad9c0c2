"""One process: its clock, its randomness, and its ports, each call of which others may precede."""

from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING

from ledger.effect import Effect
from ledger.ports import Ports
from ledger.workflow import WorkflowDefinition
from tests.simulation.dice import Dice
from tests.simulation.faults import Fault
from tests.simulation.ledger_ports import Doorbell, Executions, Store
from tests.simulation.mail_news import MailNews
from tests.simulation.outside import Mail

if TYPE_CHECKING:
    from tests.simulation.world import World

# Calls take a moment; the spread is what lets anybody overtake anybody.
USUAL_MS = 60
SLOW_MS = (1_000, 9_000)
# A frozen process is taken for dead after its limit and may go on long after that.
FROZEN_MS = (5_000, 600_000)
# Longer than a key or an approval lives. Nobody's process survives it; what is under way at a
# provider ends there all the same.
STANDSTILL_MS = (22 * 3_600_000, 30 * 3_600_000)


FUNCTION_LIMIT_MS = 60_000
# Who is given the registry: the API, the sweeper and the listener for ended executions.
HOLD_VERSIONS = frozenset({"customer", "operator", "sweeper", "notice"})


class ProcessDied(BaseException):
    """The process is gone. No handler may keep it alive, so it is no Exception."""


class Process:
    """What one invocation, request or person's session is made of."""

    def __init__(self, world: "World") -> None:
        """Build the ports; ``begin`` makes a process of it."""
        self.world = world
        self.joined = world.joined
        self.claims: dict[str, str] = {}
        """Effect id to the attempt that this process has claimed."""

        self.claimed: dict[str, Effect] = {}
        """Effect id to the effect as this process has claimed it."""

        self.words: dict[str, object] = {}
        """Effect id to what its provider said to the request of this process."""

        self.has_read: set[str] = set()
        """Which owners of targets this process has read."""

        self.swept: set[str] = set()
        self.looked_up: set[str] = set()
        """Providers that this process has looked effects up at."""

        self.shown_done: set[str] = set()
        """Names of records that a look-up has shown to this process as done."""

        self.shown: dict[str, object] = {}
        """Record id to what it really held when a look-up showed it."""

        directory, providers = world.outside.join(self)
        self._without_versions = Ports(
            store=Store(self),
            clock=self,
            ids=self,
            providers=providers,
            directory=directory,
            executions=Executions(self),
            doorbell=Doorbell(self),
            versions=None,
        )
        self._with_versions = replace(self._without_versions, versions=world.deploys.versions)
        self.ports = self._with_versions

    def begin(self, kind: str, name: str, limit_ms: int = FUNCTION_LIMIT_MS) -> None:
        """Start at the present moment with a clock of its own."""
        world = self.world
        self.kind = kind
        self.name = name
        self.rng = Dice(world.seed, name)
        limit = world.max_skew_ms
        self.skew_ms = self.rng.within(-limit, limit + 1)
        self.started_ms = world.scheduler.now_ms
        self.limit_ms = limit_ms
        self.ports = self._with_versions if kind in HOLD_VERSIONS else self._without_versions
        self.calls = 0
        self.look_up_began_ms = 0
        self.view_version: int | None = None
        self.acted_by: WorkflowDefinition | None = None
        self.shown_digest = ""
        self.told: tuple[Mail, MailNews] | None = None
        """The mail service's event that this process is about."""

    def end(self) -> None:
        """Forget everything. The ports know nothing of their own and serve another process."""
        for known in (
            self.claims,
            self.claimed,
            self.words,
            self.has_read,
            self.swept,
            self.looked_up,
            self.shown_done,
            self.shown,
        ):
            known.clear()

    def now_ms(self) -> int:
        """Return the time by this process's own clock."""
        return self.world.scheduler.now_ms + self.skew_ms

    def new_id(self) -> str:
        """Return the next id of this process."""
        self.world.ids += 1
        return f"id{self.world.ids:06d}"

    def remaining_ms(self) -> int:
        """Return how long a function may still run."""
        return self.started_ms + self.limit_ms - self.world.scheduler.now_ms

    def between(self, bounds: tuple[int, int]) -> int:
        """Return a random number of milliseconds."""
        return bounds[0] + int(self.rng.random() * (bounds[1] - bounds[0]))

    def frozen_ms(self) -> int:
        """Return how long a process stays frozen: seconds as likely as minutes."""
        low, high = FROZEN_MS
        return int(low * (high / low) ** self.rng.random())

    def pick(self, site: str) -> StrEnum | None:
        """Return the fault that strikes at ``site`` now, mostly None."""
        self.calls += 1
        return self.world.plan.pick(site, self.name, self.calls, self.rng)

    def enter(self, site: str) -> StrEnum | None:
        """Let others go first, then return what strikes this call, if anything does.

        Raises ProcessDied when that is the end of this process.
        """
        world = self.world
        world.count_step()
        self.calls += 1
        struck = world.plan.pick(site, self.name, self.calls, self.rng)
        if world.trace is not None:
            world.note(f"{self.name}: {site}", struck)
        delay_ms = 1 + int(self.rng.random() * USUAL_MS)
        if struck is Fault.STANDSTILL:
            world.stand_still(self.between(STANDSTILL_MS))
        if struck is Fault.CRASH or self.started_ms < world.stood_still_at_ms:
            raise ProcessDied
        if struck is Fault.STALL:
            delay_ms += self.frozen_ms()
        elif struck is Fault.SLOW:
            delay_ms += self.between(SLOW_MS)
        world.scheduler.pause(delay_ms)
        if self.started_ms < world.stood_still_at_ms:
            raise ProcessDied
        return struck

    def check_alive(self) -> None:
        """Raise ProcessDied when this process did not survive a standstill."""
        if self.started_ms < self.world.stood_still_at_ms:
            raise ProcessDied

    def leave(self, struck: StrEnum | None) -> None:
        """Let what strikes after a call strike. Raises ProcessDied."""
        if struck is Fault.CRASH_AFTER:
            raise ProcessDied
        if struck is Fault.STALL_AFTER:
            self.world.scheduler.pause(self.frozen_ms())
            self.check_alive()
