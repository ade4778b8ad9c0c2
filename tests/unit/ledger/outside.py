"""The rest of the outside: a doorbell, an orchestrator, a directory, a store with rivals."""

from collections.abc import Callable
from dataclasses import dataclass, field

from adapters.memory_store import MemoryStore
from ledger.errors import LedgerError, RetryLater
from ledger.ports import ExecutionStatus, StartOutcome
from ledger.provider import (
    Contact,
)
from ledger.store import Change
from tests.unit.ledger.sample import DEFINITION


@dataclass
class FakeDoorbell:
    """Remembers who rang. A token wakes once; after that, and when nobody waits, it is stale."""

    rung: list[str] = field(default_factory=list)
    stale: set[str] = field(default_factory=set)
    silent: bool = False

    def ring(self, task_token: str) -> bool:
        """Return whether somebody was woken."""
        if self.silent:
            raise RetryLater("no answer")
        self.rung.append(task_token)
        heard = task_token not in self.stale
        self.stale.add(task_token)
        return heard


@dataclass
class FakeExecutions:
    """Executions by name, each started at most once, of the versions that are deployed."""

    statuses: dict[str, ExecutionStatus] = field(default_factory=dict)
    starts: list[str] = field(default_factory=list)
    deployed: bool = True
    machines: set[str] = field(default_factory=lambda: {DEFINITION.version})

    def start(self, workflow: str, execution_name: str, run_id: str, epoch: int) -> StartOutcome:
        """Start an execution unless its name was used."""
        assert execution_name == f"{run_id}-e{epoch}"
        if not self.deployed or workflow not in self.machines:
            return StartOutcome.NO_SUCH_VERSION
        known = self.statuses.get(execution_name)
        if known is ExecutionStatus.RUNNING:
            return StartOutcome.ALREADY_RUNNING
        if known is ExecutionStatus.ENDED:
            return StartOutcome.ALREADY_ENDED
        self.statuses[execution_name] = ExecutionStatus.RUNNING
        self.starts.append(execution_name)
        return StartOutcome.STARTED

    def status(self, workflow: str, execution_name: str) -> ExecutionStatus:
        """Return the execution's status. A machine that is gone had executions all the same."""
        del workflow
        return self.statuses.get(execution_name, ExecutionStatus.NEVER_STARTED)


class Directory:
    """Knows one customer."""

    def contact(self, customer_id: str) -> Contact | None:
        """Return the customer's contact."""
        return Contact(email="ada@example.com", name="Ada") if customer_id == "cus_1" else None


class RacingStore(MemoryStore):
    """A store in which others write between somebody's read and their commit."""

    def __init__(self) -> None:
        """Start empty, with nobody racing."""
        super().__init__()
        self.rivals: list[Callable[[], None]] = []
        self.failure: LedgerError | None = None

    def commit(self, change: Change) -> None:
        """Let the next rival go first, then write or fail."""
        if self.rivals:
            self.rivals.pop(0)()
        if self.failure is not None:
            raise self.failure
        super().commit(change)
