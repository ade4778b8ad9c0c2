"""The ledger's table and the orchestrator as one process reaches them."""

from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING

from ledger.errors import LedgerMoved, LedgerUnavailable, RetryLater
from ledger.event import Event
from ledger.ports import ExecutionStatus, StartOutcome
from ledger.run import PersonalFields, RunLedger
from ledger.store import Change, DuePage, ReviewPage, ReviewPlace
from tests.simulation.faults import Fault

if TYPE_CHECKING:
    from tests.simulation.process import Process

# The store gives up within this time, see ``adapters.dynamodb_store``.
THROTTLED_MS = (4_000, 12_000)
LATE_TOKEN_MS = (1_000, 7_200_000)
DELIVERED_MS = (1, 2_000)
DELIVERED_LATE_MS = (60_000, 3_600_000)

type Deliver = Callable[[str, str, int], None]
"""Hands a message to a worker: the worker's name, the run, and after how long."""


class Store:
    """A ``ledger.store.LedgerStore`` as one process reaches it."""

    def __init__(self, process: "Process") -> None:
        """Reach the world's store from ``process``."""
        self._process = process
        self._inner = process.world.store

    @property
    def due_shards(self) -> tuple[str, ...]:
        """Return the shards that hold anything: the others are empty in every simulation."""
        return self._process.world.used_shards

    def load(self, run_id: str) -> RunLedger | None:
        """Return the run."""
        struck = self._process.enter("load")
        if struck is None:
            return self._inner.load(run_id)
        self._refuse(struck)
        found = self._inner.load(run_id)
        self._process.leave(struck)
        return found

    def commit(self, change: Change) -> None:
        """Write a change, and have the world check it."""
        struck = self._process.enter("commit")
        self._refuse(struck)
        if struck is Fault.COMMIT_CONFLICT:
            raise LedgerMoved("The transaction was in conflict with another.")
        self._process.world.commit(self._process, change)
        if struck is Fault.COMMIT_ANSWER_LOST:
            raise LedgerUnavailable("The ledger's table gave no answer.")
        self._process.leave(struck)

    def events(self, run_id: str, after_sequence: int, limit: int) -> tuple[Event, ...]:
        """Return events."""
        struck = self._process.enter("load")
        self._refuse(struck)
        found = self._inner.events(run_id, after_sequence, limit)
        self._process.leave(struck)
        return found

    def due(self, shard: str, now_ms: int, limit: int, cursor: str | None) -> DuePage:
        """Return nominated runs, which may be too many or too few."""
        struck = self._process.enter("due")
        self._refuse(struck)
        match struck:
            case Fault.DUE_STALE:
                known = self._process.world.run_ids
                opened = [run_id for run_id in known if self._inner.load(run_id) is not None]
                return DuePage(run_ids=tuple(opened), cursor=None)
            case Fault.DUE_BLIND:
                return DuePage(run_ids=(), cursor=None)
        return self._inner.due(shard, now_ms, limit, cursor)

    def in_review(self, tenant_id: str, limit: int, after: ReviewPlace | None) -> ReviewPage:
        """Return what waits for a person; no actor of a schedule asks."""
        return self._inner.in_review(tenant_id, limit, after)

    def personal(self, run_id: str) -> PersonalFields | None:
        """Return the personal fields."""
        struck = self._process.enter("load")
        self._refuse(struck)
        found = self._inner.personal(run_id)
        self._process.leave(struck)
        return found

    def erase_personal(self, run_id: str) -> None:
        """Erase the personal fields."""
        self._inner.erase_personal(run_id)

    def _refuse(self, struck: StrEnum | None) -> None:
        """Raise LedgerUnavailable for a table that is down, or throttles whoever tries again."""
        if struck is Fault.LEDGER_DOWN:
            raise LedgerUnavailable("The ledger's table gave no answer.")
        if struck is Fault.LEDGER_THROTTLED:
            self._process.world.scheduler.pause(self._process.between(THROTTLED_MS))
            self._process.check_alive()
            raise LedgerUnavailable("The ledger's table throttles.")


class Executions:
    """A ``ledger.ports.Executions`` as one process reaches it."""

    def __init__(self, process: "Process") -> None:
        """Reach the world's orchestrator from ``process``."""
        self._process = process

    def start(self, workflow: str, execution_name: str, run_id: str, epoch: int) -> StartOutcome:
        """Start an execution."""
        world = self._process.world
        struck = self._process.enter("start")
        if struck is Fault.START_UNANSWERED:
            raise RetryLater("The orchestrator gave no answer.")
        world.check.external_call(self._process, run_id, "start")
        outcome = world.orchestrator.start(workflow, execution_name, run_id, epoch)
        if struck is Fault.START_ANSWER_LOST:
            raise RetryLater("The orchestrator gave no answer.")
        self._process.leave(struck)
        return outcome

    def status(self, workflow: str, execution_name: str) -> ExecutionStatus:
        """Return an execution's status."""
        struck = self._process.enter("status")
        if struck is Fault.STATUS_UNANSWERED:
            raise RetryLater("The orchestrator gave no answer.")
        self._process.leave(struck)
        return self._process.world.orchestrator.status(workflow, execution_name)


class Doorbell:
    """A ``ledger.ports.Doorbell`` as one process reaches it."""

    def __init__(self, process: "Process") -> None:
        """Reach the world's orchestrator from ``process``."""
        self._process = process

    def ring(self, task_token: str) -> bool:
        """Ring. Return whether somebody was woken, as far as the service knows."""
        process = self._process
        struck = process.enter("ring")
        ring = process.world.orchestrator.ring
        match struck:
            case Fault.RING_UNANSWERED:
                raise RetryLater("The orchestrator gave no answer.")
            case Fault.RING_ANSWER_LOST:
                ring(task_token)
                raise RetryLater("The orchestrator gave no answer.")
            case Fault.TOKEN_LOST:
                return True
            case Fault.TOKEN_LATE | Fault.TOKEN_TWICE:
                if struck is Fault.TOKEN_TWICE:
                    ring(task_token)
                scheduler = process.world.scheduler
                at_ms = scheduler.now_ms + process.between(LATE_TOKEN_MS)
                scheduler.at(at_ms, lambda: ring(task_token))
                return True
        rung = ring(task_token)
        process.leave(struck)
        return rung


class Queue:
    """A ``ledger.ports.Nominations`` as one process reaches it."""

    def __init__(self, process: "Process", deliver: Deliver) -> None:
        """Hand messages on to ``deliver``."""
        self._process = process
        self._deliver = deliver
        self.delivers = False
        """Whether anybody is about to hear of every run that was named."""

    def put(self, run_ids: Sequence[str]) -> int:
        """Take messages, each of which comes out at least once, sooner or later."""
        process = self._process
        struck = process.enter("queue")
        self.delivers = struck not in (Fault.QUEUE_DOWN, Fault.MESSAGE_LATE, Fault.QUEUE_FULL)
        if struck is Fault.QUEUE_DOWN:
            raise RetryLater("The queue gave no answer.")
        if struck is Fault.QUEUE_FULL:
            return 0
        bounds = DELIVERED_LATE_MS if struck is Fault.MESSAGE_LATE else DELIVERED_MS
        for number, run_id in enumerate(run_ids):
            name = f"{process.name}.{number}"
            self._deliver(name, run_id, process.between(bounds))
            if struck is Fault.MESSAGE_TWICE:
                self._deliver(f"{name}b", run_id, process.between(DELIVERED_LATE_MS))
        if struck is Fault.QUEUE_ANSWER_LOST:
            raise RetryLater("The queue gave no answer.")
        process.leave(struck)
        return len(run_ids)
