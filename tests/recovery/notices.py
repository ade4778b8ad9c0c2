"""EventBridge for one world: notices of executions that ended badly, repeated or lost."""

from collections.abc import Callable
from dataclasses import dataclass

from ledger.errors import LedgerError
from reconciler.execution_status import ExecutionDetail, handle_ended
from tests.fakes.clock import FakeClock
from tests.recovery.processes import Processes
from tests.recovery.tap import ProcessDied

# Lambda repeats an asynchronous invocation that failed twice, after one and two minutes.
REDELIVERIES = 2
REDELIVERED_AFTER_MS = 60_000


@dataclass
class _Notice:
    detail: ExecutionDetail
    at_ms: int
    redeliveries: int = 0


class Notices:
    """What is on its way to ``reconciler.execution_status``."""

    def __init__(self, clock: FakeClock, processes: Processes) -> None:
        """Start with nothing on its way."""
        self.arrive = True
        self._clock = clock
        self._processes = processes
        self._waiting: list[_Notice] = []

    def tell(self, execution_name: str, status: str) -> None:
        """Send a notice, unless they get lost."""
        if self.arrive:
            detail = ExecutionDetail(name=execution_name, status=status)
            self._waiting.append(_Notice(detail, self._clock.now_ms()))

    def turns(self) -> list[tuple[int, Callable[[], None]]]:
        """Return when each notice arrives, and its delivery."""
        return [(notice.at_ms, self._delivery(notice)) for notice in self._waiting]

    def _delivery(self, notice: _Notice) -> Callable[[], None]:
        return lambda: self._deliver(notice)

    def _deliver(self, notice: _Notice) -> None:
        self._waiting.remove(notice)

        def again() -> None:
            if notice.redeliveries < REDELIVERIES:
                at_ms = self._clock.now_ms() + REDELIVERED_AFTER_MS
                self._waiting.append(_Notice(notice.detail, at_ms, notice.redeliveries + 1))

        try:
            self._processes.run("notice", lambda ports: handle_ended(ports, notice.detail), again)
        except (ProcessDied, LedgerError):
            again()
