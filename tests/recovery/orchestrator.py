"""Step Functions for one world: named executions, task tokens and notices of bad ends."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from ledger.ports import ExecutionStatus, StartOutcome
from tests.fakes.clock import FakeClock
from tests.recovery.state_machine import Execution, Status

BAD_ENDS = frozenset({Status.FAILED, Status.TIMED_OUT, Status.ABORTED})


class Orchestrator:
    """Both ``ledger.ports.Executions`` and ``ledger.ports.Doorbell``."""

    def __init__(
        self,
        clock: FakeClock,
        machines: Mapping[str, Mapping[str, Any]],
        invoke: Callable[[str, str, str, Any], Any],
        tell: Callable[[str, str], None],
    ) -> None:
        """Run ``machines`` (by workflow version); ``tell`` hears name and status of a bad end.

        ``invoke`` gets the version, the execution's name, the function's and its payload.
        """
        self.executions: dict[str, Execution] = {}
        self.deaf = False
        """Whether every token is lost: no bell wakes anybody."""

        self.machines = machines
        """Those that are deployed."""

        self._clock = clock
        self._invoke = invoke
        self._tell = tell
        self._killed: set[str] = set()

    def start(self, workflow: str, execution_name: str, run_id: str, epoch: int) -> StartOutcome:
        """Start the named execution unless there is, or was, one of that name."""
        if workflow not in self.machines:
            return StartOutcome.NO_SUCH_VERSION
        existing = self.executions.get(execution_name)
        if existing is not None:
            running = existing.status is Status.RUNNING
            return StartOutcome.ALREADY_RUNNING if running else StartOutcome.ALREADY_ENDED
        self.executions[execution_name] = Execution(
            self.machines[workflow],
            execution_name,
            {"run_id": run_id, "epoch": epoch},
            self._clock,
            partial(self._invoke, workflow, execution_name),
        )
        return StartOutcome.STARTED

    def status(self, workflow: str, execution_name: str) -> ExecutionStatus:
        """Return the execution's status."""
        existing = self.executions.get(execution_name)
        if existing is None or workflow not in self.machines:
            return ExecutionStatus.NEVER_STARTED
        running = existing.status is Status.RUNNING
        return ExecutionStatus.RUNNING if running else ExecutionStatus.ENDED

    def ring(self, task_token: str) -> bool:
        """Return whether an execution was woken; a list, for ``any`` would stop at the first."""
        if self.deaf:
            return False
        return True in [execution.ring(task_token) for execution in self.executions.values()]

    def running(self) -> list[Execution]:
        """Return the executions that have something to do, now or at a known time."""
        return [
            execution
            for execution in self.executions.values()
            if execution.status is Status.RUNNING and execution.next_at_ms is not None
        ]

    def step(self, execution: Execution) -> None:
        """Let an execution do what is due, and tell of a bad end."""
        execution.step()
        if execution.status in BAD_ENDS and execution.name not in self._killed:
            self._tell(execution.name, execution.status)

    def kill(self, execution_name: str, *, tell: bool) -> None:
        """End an execution from outside; its notice may get lost."""
        execution = self.executions[execution_name]
        if execution.status is Status.RUNNING:
            execution.end(Status.ABORTED)
            self._killed.add(execution_name)
            if tell:
                self._tell(execution_name, Status.ABORTED)
