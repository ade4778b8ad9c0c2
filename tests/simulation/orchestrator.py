"""Executions of the released state machines, task tokens, and notices of bad ends."""

from collections.abc import Mapping
from enum import StrEnum
from typing import TYPE_CHECKING

from ledger.errors import LedgerError
from ledger.ports import ExecutionStatus, StartOutcome
from ledger.reconcile import Standing
from ledger.resume import resume
from ledger.task import Task, WaitingTask
from reconciler.execution_status import ExecutionDetail, handle_ended
from tests.simulation.dice import Dice
from tests.simulation.faults import Fault
from tests.simulation.machine import Machine, State
from tests.simulation.process import FUNCTION_LIMIT_MS, Process, ProcessDied
from tests.simulation.scheduler import Gate
from workflows.reconcile import reconcile

if TYPE_CHECKING:
    from tests.simulation.world import World

DIED, TIMED_OUT, CRASHED = "Runtime.ExitError", "Sandbox.Timedout", "Crashed"
DUPLICATE_AFTER_MS = (1, 60_000)
NOTICE_MS = (200, 3_000)
LATE_NOTICE_MS = (60_000, 7_200_000)
REDRIVEN_AFTER_MS = (1_000, 3_600_000)
# Lambda repeats an asynchronous invocation that failed twice, after one and two minutes.
REDELIVERED_MS = (60_000, 120_000)
# A refund that stays pending is read every hour for two weeks, in two states each time; more than
# twice that is a loop without a way out.
MAX_VISITS = 1_500

type Result = Mapping[str, str | int]


def invoke(process: Process, machine: Machine, state: str, task: Task) -> Result:
    """Return what the function of a state returns."""
    ports = process.ports
    match state:
        case "Resume":
            return {"next": resume(ports, machine.definition, task)}
        case "Reconcile":
            outcome = reconcile(ports, task)
            where = "Wait" if outcome.standing is Standing.WAIT else "Resume"
            return {"next": where, "wait_seconds": outcome.wait_seconds}
    machine.stage(state)(ports, process, task)
    return {}


class TaskFailed(Exception):
    """A task's failure, by the name under which the service reports it."""

    def __init__(self, error: str) -> None:
        """Keep the error's name."""
        super().__init__(error)
        self.error = error


class Execution:
    """One execution; a redrive goes on where it ended."""

    def __init__(
        self, world: "World", machine: Machine, name: str, run_id: str, epoch: int
    ) -> None:
        """Begin at the machine's first state."""
        self.machine = machine
        self.name = name
        self.status = "RUNNING"
        self.token = ""
        self.gate: Gate | None = None
        self._world = world
        self._run_id = run_id
        self._epoch = epoch
        self._state = "Resume"
        self._result: Result = {}
        self._visits = 0
        self._lives = 0
        self._started_ms = world.scheduler.now_ms
        self._rng = Dice(world.seed, name)
        self._calls = 0
        self._plain = Task(run_id=run_id, epoch=epoch)

    def live(self) -> None:
        """Run until the end, from wherever it stands. A redrive leaves the life before behind."""
        if not self._world.orchestrator.has(self.machine):
            return  # what is deleted is not redriven
        self._lives += 1
        life = self._lives
        self.status = "RUNNING"
        states = self.machine.states
        while self.status == "RUNNING":
            self._visits += 1
            if self._visits > MAX_VISITS:
                self._world.check.fail("liveness", f"{self.name} goes round in circles")
            if self._world.scheduler.now_ms - self._started_ms > self.machine.time_limit_ms:
                self.end("TIMED_OUT")
                return
            following = self._enter(states[self._state])
            if life != self._lives:
                return
            self._state = following

    def end(self, status: str, *, tell: bool = True) -> None:
        """End, and tell of a bad end."""
        if self.status != "RUNNING":
            return
        self.status = status
        if status == "SUCCEEDED":
            return
        if tell:
            self._world.orchestrator.tell(self.name, status)
        if self._pick("ended") is Fault.REDRIVEN:
            low, high = REDRIVEN_AFTER_MS
            delay_ms = low + int(self._rng.random() * (high - low))
            self._world.scheduler.spawn(delay_ms, self.live)

    def _pick(self, site: str) -> StrEnum | None:
        self._calls += 1
        return self._world.plan.pick(site, self.name, self._calls, self._rng)

    def _enter(self, state: State) -> str:
        """Return the state that follows."""
        match state.kind:
            case "Task":
                return self._task(state)
            case "Wait":
                seconds = state.seconds
                if seconds is None:
                    seconds = int(self._result["wait_seconds"])
                self._world.scheduler.pause(seconds * 1000)
            case "Choice":
                return state.choices.get(str(self._result["next"]), state.following)
            case "Succeed":
                self.end("SUCCEEDED")
            case _:
                self.end("FAILED")
        return state.following

    def _task(self, state: State) -> str:
        tries = [0] * len(state.retriers)
        while True:
            try:
                self._result = self._invoke(state)
            except TaskFailed as failed:
                if self.status != "RUNNING":
                    return state.name  # a redrive begins here
                if self._retry(state, failed.error, tries):
                    continue
                following = state.caught_by(failed.error)
                if following is None:
                    self.end("FAILED")
                return following or state.name
            return state.following

    def _retry(self, state: State, error: str, tries: list[int]) -> bool:
        for number, retrier in enumerate(state.retriers):
            if error in retrier.errors or "States.ALL" in retrier.errors:
                if tries[number] >= retrier.most:
                    return False
                self._world.scheduler.pause(retrier.pause_ms(tries[number], self._rng))
                tries[number] += 1
                return True
        return False

    def _invoke(self, state: State) -> Result:
        """Return the function's result. Raises TaskFailed."""
        world = self._world
        self._calls += 1
        token = f"{self.name}:{state.name}:{self._calls}"
        task: Task = self._plain
        if state.waits_for_token:
            task = WaitingTask(run_id=self._run_id, epoch=self._epoch, task_token=token)
        limit_ms = self.machine.limits_ms.get(state.name, FUNCTION_LIMIT_MS)
        machine = self.machine

        def invoked(process: Process) -> Result:
            return invoke(process, machine, state.name, task)

        gate = Gate(world.scheduler)
        match self._pick("invoke"):
            case Fault.DUPLICATE_INVOCATION:
                low, high = DUPLICATE_AFTER_MS
                delay_ms = int(low * (high / low) ** self._rng.random())
                twin = f"{token}+"
                world.run_process("worker", twin, invoked, delay_ms=delay_ms, limit_ms=limit_ms)
            case Fault.KILLED:
                low, high = NOTICE_MS
                delay_ms = int(self._rng.random() * (high - low))
                tell = self._rng.random() < 0.7
                at_ms = world.scheduler.now_ms + delay_ms
                world.scheduler.at(at_ms, lambda: self.end("ABORTED", tell=tell))
        world.run_process("worker", token, invoked, gate.open, limit_ms=limit_ms)
        if not state.waits_for_token:
            return _result_of(gate.wait(limit_ms))
        self.token, self.gate = token, Gate(world.scheduler)
        failed = gate.wait(limit_ms)
        if not self.gate.is_open:
            _result_of(failed)
        rung = self.gate.wait(state.timeout_ms - limit_ms)
        self.token = ""
        if rung is None:
            raise TaskFailed("States.Timeout")
        return {}

    def ring(self, token: str) -> bool:
        """Return whether ``token`` wakes this execution."""
        return (
            self.status == "RUNNING"
            and self.token == token
            and self.gate is not None
            and self.gate.open(True)
        )


def _result_of(outcome: object) -> Result:
    if outcome is None:
        raise TaskFailed(TIMED_OUT)
    if isinstance(outcome, str):
        raise TaskFailed(outcome)
    assert isinstance(outcome, dict)
    return outcome


class Orchestrator:
    """All executions of one world."""

    def __init__(self, world: "World") -> None:
        """Start with none."""
        self._world = world
        self.machines: dict[str, Machine] = {}
        """Version to the state machine that is deployed of it."""

        self.executions: dict[str, Execution] = {}
        self._told = 0

    def has(self, machine: Machine) -> bool:
        """Return whether the machine is deployed."""
        return self.machines.get(machine.definition.version) is machine

    def delete(self, version: str, *, tell: bool) -> None:
        """Delete a machine, with the executions that are under way."""
        machine = self.machines.pop(version)
        for execution in self.executions.values():
            if execution.machine is machine:
                execution.end("ABORTED", tell=tell)

    def start(self, workflow: str, name: str, run_id: str, epoch: int) -> StartOutcome:
        """Start the named execution unless there is, or was, one of that name."""
        machine = self.machines.get(workflow)
        if machine is None:
            return StartOutcome.NO_SUCH_VERSION
        existing = self.executions.get(name)
        if existing is not None:
            running = existing.status == "RUNNING"
            return StartOutcome.ALREADY_RUNNING if running else StartOutcome.ALREADY_ENDED
        execution = Execution(self._world, machine, name, run_id, epoch)
        self.executions[name] = execution
        self._world.scheduler.spawn(0, execution.live)
        return StartOutcome.STARTED

    def status(self, workflow: str, name: str) -> ExecutionStatus:
        """Return the execution's status."""
        existing = self.executions.get(name)
        if existing is None or workflow not in self.machines:
            return ExecutionStatus.NEVER_STARTED
        running = existing.status == "RUNNING"
        return ExecutionStatus.RUNNING if running else ExecutionStatus.ENDED

    def ring(self, token: str) -> bool:
        """Return whether an execution was woken."""
        execution = self.executions.get(token.split(":", 1)[0])
        return execution is not None and execution.ring(token)

    def tell(self, name: str, status: str) -> None:
        """Send the notice of a bad end, which may get lost, late or doubled."""
        world = self._world
        self._told += 1
        who = f"notice{self._told}"
        rng = Dice(world.seed, who)
        struck = world.plan.pick("notice", who, 0, rng)
        if struck is Fault.NOTICE_LOST:
            return
        low, high = LATE_NOTICE_MS if struck is Fault.NOTICE_LATE else NOTICE_MS
        copies = 2 if struck is Fault.NOTICE_TWICE else 1
        for copy in range(copies):
            delay_ms = low + int(rng.random() * (high - low))
            self._deliver(f"{who}.{copy}", name, status, delay_ms, redeliveries=0)

    def _deliver(self, who: str, name: str, status: str, delay_ms: int, redeliveries: int) -> None:
        detail = ExecutionDetail(name=name, status=status)

        def deliver(process: Process) -> None:
            try:
                handle_ended(process.ports, detail)
            except (ProcessDied, LedgerError):
                if redeliveries < len(REDELIVERED_MS):
                    again_ms = REDELIVERED_MS[redeliveries]
                    self._deliver(f"{who}r", name, status, again_ms, redeliveries + 1)
                raise

        self._world.run_process("notice", who, deliver, delay_ms=delay_ms)


def error_name(error: Exception) -> str:
    """Return the name under which the service reports a function's error."""
    return type(error).__name__ if isinstance(error, LedgerError) else CRASHED
