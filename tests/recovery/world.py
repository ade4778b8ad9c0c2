"""One world: the outside as fakes, the real code inside processes that may die at any call."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from enum import StrEnum
from typing import Any
from unittest import mock

from api.door import Request, Route
from api.problem import Response, problem_of, problem_of_fault, problem_of_retry
from ledger.contract import LookUp
from ledger.effect import Effect
from ledger.errors import LedgerError, RequestRefused, RetryLater
from ledger.event import Event
from ledger.ports import Ports
from ledger.run import RunLedger
from ledger.store import LedgerStore
from ledger.transitions import EffectState, RunState
from providers.contracts import CONTRACTS
from reconciler.reconcile_worker import look_after, work
from reconciler.sweeper import nominate
from runtime.boundary import boundary
from tests.fakes.clock import FakeClock, FakeTimeLeft
from tests.fakes.nominations import FakeNominations
from tests.recovery.customer import Customer
from tests.recovery.functions import (
    FUNCTION_MS,
    Function,
    functions,
    limit_ms,
    machine,
    stage_function,
)
from tests.recovery.notices import Notices
from tests.recovery.orchestrator import Orchestrator
from tests.recovery.processes import Processes
from tests.recovery.scenarios import Scenario, Wanted, usual
from tests.recovery.state_machine import Execution, TaskFailed
from tests.recovery.tap import Fault, ProcessDied, Tap
from workflows import registry
from workflows.registry import REGISTRY

TICK_MS = 60_000  # the schedule of the sweeper
# No invocation lives longer than its time limit; ten times that is more than anything can stall.
STALL_TIMES = 10
# A run that waits for a person is looked at now and then; this many looks change nothing more.
IDLE_LOOKS = 3
# A world that is not quiet by then never will be.
MAX_TURNS = 1_500
ALL_TIME_MS = 2**60
MAX_EVENTS = 10_000


class Aftermath(StrEnum):
    """What a stage's process that dies, or freezes, takes with it."""

    CAUGHT = "the state machine catches it"
    EXECUTION_DIES = "the execution dies"
    NOTICE_LOST = "the execution dies and nobody is told"


class NeverQuietError(AssertionError):
    """The world went on and on."""


class World:
    """Everything that one scenario needs, fresh."""

    def __init__(
        self,
        faults: Sequence[Fault] = (),
        aftermath: Aftermath = Aftermath.CAUGHT,
        death: str = "Runtime.ExitError",
        *,
        keys_honoured: bool = True,
        store: LedgerStore | None = None,
        scenario: Scenario | None = None,
        wanted: Wanted | None = None,
    ) -> None:
        """Strike at ``faults``. ``death`` is the service's name for a process that is gone.

        Every registered version is deployed; new runs are opened on the scenario's.
        """
        self.scenario = scenario or usual()
        self.opened_on = self.scenario.definition
        """The version on which new runs of its workflow are opened."""

        self.clock = FakeClock()
        self.tap = Tap(self.clock, faults)
        self.outside = self.scenario.outside(
            self.clock, self.tap, keys_honoured=keys_honoured, store=store
        )
        self.store, self.stripe, self.ses = (
            self.outside.store,
            self.outside.stripe,
            self.outside.ses,
        )
        self.processes = Processes(self.tap, lambda: self.outside.join(self.orchestrator))
        self.notices = Notices(self.clock, self.processes)
        self.queue = FakeNominations()
        """What the sweeper names and the workers look after."""

        self.queued: list[str] = []
        """The body of every message that was ever put there."""

        self.orchestrator = Orchestrator(
            self.clock,
            {version: machine(found.asl_path) for version, found in REGISTRY.items()},
            self._invoke,
            self.notices.tell,
        )
        self.customers: list[Customer] = []
        self.mail_in_doubt = False
        """Whether a fault hit while the claim of a mail was open, which nobody can look up."""

        self.aftermath = aftermath
        self._death = death
        self._deployed: dict[str, Mapping[str, Function]] = {}
        self.sweeper_runs = True
        """Whether the sweeper's schedule is on."""

        self._last_tick_ms = self.clock.now_ms()
        self._idle_looks = 0
        self.tap.on_stall = self._stall
        self.tap.on_struck = self._note_doubt
        self.add_customer(wanted)

    def add_customer(self, wanted: Wanted | None = None) -> Customer:
        """Return a customer who wants ``wanted`` and has all that this takes."""
        self.outside.seed(self.scenario.wanted if wanted is None else wanted)
        customer = Customer(self.clock, self.request, self.scenario, wanted)
        self.customers.append(customer)
        return customer

    # What a test reads, past the tap.

    @property
    def customer(self) -> Customer:
        """Return the first customer."""
        return self.customers[0]

    @property
    def ledger(self) -> RunLedger:
        """Return the first customer's run as it stands."""
        return self.ledger_of(self.customer)

    @property
    def events(self) -> tuple[Event, ...]:
        """Return the events of the first customer's run."""
        return self.events_of(self.ledger)

    def ledger_of(self, customer: Customer) -> RunLedger:
        """Return a customer's run as it stands. Raises AssertionError when there is none."""
        found = [ledger for ledger in self.runs() if ledger.run.customer_id == customer.customer_id]
        if len(found) != 1:
            raise AssertionError(f"There are {len(found)} runs of this customer.")
        return found[0]

    def events_of(self, ledger: RunLedger) -> tuple[Event, ...]:
        """Return the events of a run."""
        return self.store.events(ledger.run.run_id, 0, MAX_EVENTS)

    def runs(self) -> list[RunLedger]:
        """Return the open runs, and those that a customer knows of."""
        run_ids = [customer.run_id for customer in self.customers if customer.run_id is not None]
        for shard in self.store.due_shards:
            run_ids += self.store.due(shard, ALL_TIME_MS, 100, None).run_ids
        found = [self.store.load(run_id) for run_id in sorted(set(run_ids))]
        return [ledger for ledger in found if ledger is not None]

    def open_runs(self) -> list[RunLedger]:
        """Return the runs that are not closed."""
        return [ledger for ledger in self.runs() if ledger.run.is_open]

    # Time.

    def run(self, until_ms: int = ALL_TIME_MS, turns: int = MAX_TURNS) -> None:
        """Let everybody act in the order of time, until nothing more happens by itself.

        Stops before ``until_ms`` and after fewer ``turns``, where these are given.
        """
        self._idle_looks = 0
        for _ in range(min(turns, MAX_TURNS)):
            if self._is_quiet() or not self._take_turn(until_ms):
                return
        if turns >= MAX_TURNS:
            raise NeverQuietError(f"Not quiet after {MAX_TURNS} turns: {self.ledger.run}")

    def run_until(self, reached: Callable[[RunLedger], bool]) -> None:
        """Let everybody act until the first customer's run has got to a point."""
        for _ in range(MAX_TURNS):
            runs = self.runs()
            if (runs and reached(self.ledger)) or not self._take_turn(ALL_TIME_MS):
                return
        raise NeverQuietError("That point was never reached.")

    def _take_turn(self, until_ms: int) -> bool:
        turns: list[tuple[int, Callable[[], None]]] = [
            (execution.next_at_ms, _step(self.orchestrator, execution))
            for execution in self.orchestrator.running()
            if execution.next_at_ms is not None
        ]
        turns += self.notices.turns()
        turns += [
            (customer.next_at_ms, customer.act)
            for customer in self.customers
            if customer.next_at_ms is not None
        ]
        turns += self._ticks()
        if not turns:
            return False
        at_ms, act = min(turns, key=lambda turn: max(turn[0], self.clock.now_ms()))
        if at_ms > until_ms:
            return False
        self.clock.move_to(at_ms)
        act()
        return True

    def _ticks(self) -> list[tuple[int, Callable[[], None]]]:
        """Return the first tick that finds something due; those before it would find nothing."""
        due_ms = [found.run.due_at_ms for found in self.runs() if found.run.due_at_ms is not None]
        if not due_ms or not self.sweeper_runs:
            return []
        wanted_ms = max(min(due_ms), self._last_tick_ms + TICK_MS)
        return [(-(-wanted_ms // TICK_MS) * TICK_MS, self.tick)]

    def _is_quiet(self) -> bool:
        """Return whether nothing but a person or a reminder is left."""
        if self.notices.turns() or self.orchestrator.running():
            return False
        if any(customer.run_id is None for customer in self.customers):
            return False
        open_runs = self.open_runs()
        if any(ledger.run.state is not RunState.REVIEW for ledger in open_runs):
            return False
        return not open_runs or self._idle_looks >= IDLE_LOOKS

    # Processes.

    def function(self, name: str) -> Function:
        """Return a function of the scenario's version by the name of its state."""
        return self._functions(self.scenario.definition.version)[name]

    def stage(self, name: str, ms_left: int | None = None) -> Function:
        """Return a stage of the scenario's version, invoked with ``ms_left``."""
        return stage_function(self.scenario.definition, self.clock, name, ms_left)

    def _functions(self, version: str) -> Mapping[str, Function]:
        if version not in self._deployed:
            self._deployed[version] = functions(REGISTRY[version], self.clock)
        return self._deployed[version]

    def request(
        self, name: str, route: Route, request: Request, give_up: Callable[[], None]
    ) -> Response | None:
        """Return the API's response as the door would give it, None when it was lost."""

        opened_on = {self.opened_on.name: self.opened_on}
        try:
            with mock.patch.dict(registry.CURRENT, opened_on):
                return self.processes.run(name, lambda ports: route(ports, request), give_up)
        except ProcessDied:
            return None
        except RequestRefused as refused:
            return problem_of(refused)
        except RetryLater:
            return problem_of_retry()
        except Exception:  # noqa: BLE001  noted, and the door answers whatever happens
            return problem_of_fault()

    def tick(self) -> None:
        """Let the sweeper and the workers run once; each message comes again at the next tick.

        A process that fails leaves everything to the next tick.
        """
        self._last_tick_ms = self.clock.now_ms()
        reviewed = all(ledger.run.state is RunState.REVIEW for ledger in self.open_runs())
        self._idle_looks = self._idle_looks + 1 if reviewed else 0
        queue = self.tap.wrap("queue", self.queue)
        late = list(self.queue.waiting)
        left = self._time_left()
        with suppress(ProcessDied, LedgerError):
            self.processes.run(
                "sweeper", lambda ports: nominate(ports.store, ports.clock, queue, left)
            )
        named = [found.body for found in self.queue.waiting if found not in late]
        self.queued += named
        self.queue.deliver(self._work)
        self.queue.put(named)

    def _work(self, batch: dict[str, Any]) -> dict[str, Any] | None:
        """Let a worker look after a batch; None when it died in the middle."""
        left = self._time_left()
        try:
            return self.processes.run(
                "worker", lambda ports: work(batch, lambda run_id: look_after(ports, left, run_id))
            )
        except ProcessDied:
            return None

    def _time_left(self) -> FakeTimeLeft:
        return FakeTimeLeft(self.clock, self.clock.now_ms() + FUNCTION_MS)

    def _invoke(self, version: str, execution_name: str, function: str, payload: Any) -> Any:
        """Return what the function returns; its failure under the name that the service gives."""
        name = function.removeprefix("${").removesuffix("FunctionArn}")
        execution = self.orchestrator.executions[execution_name]
        act_of_version = self._functions(version)[name]

        def act(ports: Ports) -> Any:
            with boundary(f"{name} did not finish", stage=name):
                return act_of_version(ports, payload)

        def give_up() -> None:
            if self.aftermath is Aftermath.CAUGHT:
                allowed_ms = limit_ms(REGISTRY[version], name)
                execution.abandon("States.Timeout", self.clock.now_ms() + allowed_ms)
            else:
                self._kill(execution_name)

        try:
            return self.processes.run(name, act, give_up)
        except ProcessDied:
            if self.aftermath is not Aftermath.CAUGHT:
                self._kill(execution_name)
            raise TaskFailed(self._death) from None
        except Exception as error:
            raise TaskFailed(type(error).__name__) from error

    # What the outside does when something ends, hangs or is struck.

    def _kill(self, execution_name: str) -> None:
        self.orchestrator.kill(execution_name, tell=self.aftermath is Aftermath.EXECUTION_DIES)

    def _stall(self, turns: int) -> None:
        """Let the world take the frozen process for dead and go on, for as long as it can last."""
        stages = self.scenario.definition.stages
        longest_ms = max(stage.timeout_seconds for stage in stages) * 1000
        until_ms = self.clock.now_ms() + STALL_TIMES * longest_ms
        self.processes.freeze_running(lambda: self.run(until_ms, turns))

    def _note_doubt(self) -> None:
        self.mail_in_doubt = self.mail_in_doubt or any(
            effect.state is EffectState.ATTEMPTING and cannot_be_looked_up(effect)
            for ledger in self.runs()
            for effect in ledger.effects
        )


def cannot_be_looked_up(effect: Effect) -> bool:
    """Return whether nobody can say if the effect is there once its answer is lost."""
    return CONTRACTS[effect.provider].look_up is LookUp.NONE


def _step(orchestrator: Orchestrator, execution: Execution) -> Callable[[], None]:
    return lambda: orchestrator.step(execution)
