"""Everything outside the domain, as the domain sees it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from ledger.provider import CustomerDirectory, Provider
from ledger.store import LedgerStore
from ledger.versions import Versions


class Clock(Protocol):
    """The time, injected."""

    def now_ms(self) -> int:
        """Return milliseconds since 1970-01-01 UTC."""


class Ids(Protocol):
    """Randomness, injected."""

    def new_id(self) -> str:
        """Return an id that nobody else will ever get."""


class ExecutionStatus(StrEnum):
    """What the orchestrator says of an execution."""

    RUNNING = "running"
    ENDED = "ended"
    NEVER_STARTED = "never_started"


class StartOutcome(StrEnum):
    """What became of a start."""

    STARTED = "started"
    ALREADY_RUNNING = "already_running"
    ALREADY_ENDED = "already_ended"
    NO_SUCH_VERSION = "no_such_version"
    HELD_BACK = "held_back"  # assigned, and started later: earlier ones ended too soon


class Executions(Protocol):
    """The orchestrator of state machine executions."""

    def start(self, workflow: str, execution_name: str, run_id: str, epoch: int) -> StartOutcome:
        """Start the named execution at most once. Raises RetryLater when there is no answer."""

    def status(self, workflow: str, execution_name: str) -> ExecutionStatus:
        """Return the execution's status. Raises RetryLater when there is no answer."""


class Doorbell(Protocol):
    """Wakes an execution that waits for a person."""

    def ring(self, task_token: str) -> bool:
        """Return whether somebody was woken; False for a stale token.

        Raises RetryLater when there is no answer.
        """


class Nominations(Protocol):
    """The queue of runs that are due: each comes out at least once, in no order."""

    def put(self, run_ids: Sequence[str]) -> int:
        """Return how many were taken; a run that was not stays due.

        Raises RetryLater when there is no answer: any number may have been taken.
        """


class TimeLeft(Protocol):
    """How long the present invocation may still run."""

    def remaining_ms(self) -> int:
        """Return milliseconds until the invocation is ended from outside."""


@dataclass(frozen=True)
class Ports:
    """The wired outside of one process."""

    store: LedgerStore
    clock: Clock
    ids: Ids
    providers: Mapping[str, Provider]
    directory: CustomerDirectory
    executions: Executions
    doorbell: Doorbell
    versions: Versions | None = field(default_factory=Versions)
    """The registered versions and migrations. None in a process that does not know them: it leaves
    a run whose version is not deployed to one that does."""
