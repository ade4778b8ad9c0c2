"""One seed's world: a run or two, everybody who touches them, and the time in which they do."""

import traceback
from collections.abc import Callable
from enum import StrEnum

from adapters.due_shards import due_shard
from adapters.memory_store import MemoryStore
from ledger.admission import Opening
from ledger.errors import InvariantBroken, LedgerError
from ledger.event import EventKind
from ledger.idempotency import run_id_for
from ledger.run import Run
from ledger.store import Change, LedgerStore
from ledger.transitions import RunState
from reconciler.reconcile_worker import look_after
from reconciler.sweeper import nominate
from tests.simulation import actors
from tests.simulation.check import Check
from tests.simulation.deploys import Deploys
from tests.simulation.dice import Dice, world_dice
from tests.simulation.faults import Fault, Plan
from tests.simulation.feeds import MailFeed
from tests.simulation.ledger_ports import Queue
from tests.simulation.orchestrator import DIED, Orchestrator, error_name
from tests.simulation.outside import Mail
from tests.simulation.process import FUNCTION_LIMIT_MS, Process, ProcessDied
from tests.simulation.scenarios import scenario_of
from tests.simulation.scheduler import Scheduler
from tests.simulation.store import SharedStore

START_MS = 1_767_225_600_000  # 2026-01-01 00:00 UTC
MAX_SKEW_MS = 5_000
TICK_MS = 60_000
MAX_STEPS = 8_000  # port calls; a world that is not quiet by then never will be
# A message whose worker died is seen again, and given up after a few times: its run is still due.
MAX_RECEIVED = 3
VISIBLE_AGAIN_MS = 360_000
IDLE_LOOKS = 3  # a run that waits for a person is looked at now and then; more changes nothing
MEMORY_STORE_EVERY = 64  # seeds; the others share their frozen records
MAX_OPERATORS = 6
SHARE_OF_TWO_RUNS = 0.1
SHARE_WITH_FEEDS = 0.5  # the others rest on the answers to calls and on sweeps alone
MAX_ASKED = 4  # a client that hears nothing asks again, within reason
TENANT_ID = "tenant-1"
LOOKED_ONLY = frozenset(
    {EventKind.SWEEP_CLAIMED, EventKind.RECONCILE_READ, EventKind.RECONCILE_READ_FAILED}
)


class World:
    """Everything that one seed needs."""

    def __init__(
        self,
        seed: int,
        dropped: frozenset[str] = frozenset(),
        focus: frozenset[StrEnum] = frozenset(),
        *,
        traced: bool = False,
        copies: bool | None = None,
    ) -> None:
        """Set the world up; nothing has happened yet.

        ``copies`` decides whether the store keeps JSON or shares its records; None leaves it to
        the seed.
        """
        self.seed = seed
        self.trace: list[str] | None = [] if traced else None
        self.scheduler = Scheduler(START_MS)
        rng = world_dice(seed)
        self.scenario = scenario_of(seed)
        self.plan = Plan(rng, self.scenario, dropped, focus)
        self.max_skew_ms = rng.choice((0, MAX_SKEW_MS))
        self.operators_left = rng.randrange(MAX_OPERATORS + 1)
        self.stood_still_at_ms = 0
        """Processes that began before this moment are gone."""

        self._spare: list[Process] = []
        """Ended processes, whose ports take longer to build than most of them live."""

        self.joined = 0
        """How often what processes are joined to has changed."""

        self.ids = 0
        self.steps = 0
        copies = seed % MEMORY_STORE_EVERY == 0 if copies is None else copies
        self.store: LedgerStore = MemoryStore() if copies else SharedStore()
        self.check = Check(self)
        self.orchestrator = Orchestrator(self)
        self.deploys = Deploys(self, self.scenario, focus)
        self.outside = self.scenario.outside(self)
        runs = 2 if rng.random() < SHARE_OF_TWO_RUNS else 1
        self.outside.share_among(runs)
        self.listens = rng.random() < SHARE_WITH_FEEDS
        """Whether the providers' notices and events reach us."""

        if self.listens:
            self._listen(MailFeed(self))
            self.outside.listen()
        self.openings = [self._opening(number) for number in range(runs)]
        self.run_ids = [
            run_id_for(TENANT_ID, actors.CUSTOMER.actor_id, opening.caller_key)
            for opening in self.openings
        ]
        self._heads: dict[str, Run] = {}
        """Every run's head as it was committed last."""

        self.used_shards = tuple(sorted({due_shard(run_id) for run_id in self.run_ids}))
        self._looks: dict[str, int] = {}
        self._tick_at_ms: int | None = None
        self._ticks = 0
        self._asked = 0

    def run(self) -> None:
        """Let everybody act until only people could change anything, then without any faults."""
        for number, opening in enumerate(self.openings):
            self._ask(f"door{number}", opening)
        actors.meddlers_come(self)
        try:
            self._until_quiet()
            self.plan.calm()
            self.outside.reads_down_until_ms.clear()
            self._looks.clear()
            self._plan_tick()
            self._until_quiet()
            self.check.at_the_end()
        finally:
            self.scheduler.close()

    def take_apart(self) -> None:
        """Let go of everything; the world is of no use any more.

        All of it refers to all of it. Taken apart, most is freed at once, while it is still near
        the processor; the collector takes a seventh of the whole time to find it later.
        """
        parts = (
            *self._spare,
            self.check,
            self.deploys,
            self.orchestrator,
            self.outside,
            self.plan,
            self.scheduler,
            self.store,
            self,
        )
        for part in parts:
            vars(part).clear()

    def _listen(self, feed: MailFeed) -> None:
        """Let the mail service tell of what becomes of a mail."""

        def mailed(mail: Mail) -> None:
            self.check.mail_accepted(mail)
            feed.mailed(mail)

        self.outside.on_mail = mailed

    def _until_quiet(self) -> None:
        while self.scheduler.step():
            pass

    def _ask(self, name: str, opening: Opening, asked: int = 1) -> None:
        def ended(outcome: object) -> None:
            if outcome == DIED and asked < MAX_ASKED:
                self._ask(f"{name}r", opening, asked + 1)

        self.run_process("customer", name, lambda p: actors.ask(p, opening), ended)

    def _opening(self, number: int) -> Opening:
        return Opening(
            tenant_id=TENANT_ID,
            actor=actors.CUSTOMER,
            caller_key=f"key-{number}",
            request=self.outside.request(number),
            workflow=self.scenario.definition.name,
        )

    # What processes are made of.

    def run_process(
        self,
        kind: str,
        name: str,
        act: Callable[[Process], object],
        ended: Callable[[object], object] | None = None,
        delay_ms: int = 0,
        limit_ms: int = FUNCTION_LIMIT_MS,
    ) -> None:
        """Let a process act; ``ended`` hears its result, or the name of its error."""

        def body() -> None:
            process = self._spare.pop() if self._spare else Process(self)
            process.begin(kind, name, limit_ms)
            try:
                outcome = act(process)
            except ProcessDied:
                outcome = DIED
            except InvariantBroken as broken:
                self.check.fail("InvariantBroken", str(broken))
            except LedgerError as error:
                outcome = error_name(error)
                if self.trace is not None:
                    self.note(f"{name}: {error_name(error)}: {error}", None)
            except Exception as error:  # noqa: BLE001  whatever it is, it is no error of ours
                place = traceback.extract_tb(error.__traceback__)[-1]
                text = f"{type(error).__name__} at {place.filename}:{place.lineno}: {error}"
                self.check.fail("foreign error", f"{kind}: {text}")
            finally:
                process.end()
                if process.joined == self.joined:
                    self._spare.append(process)
            if ended is not None:
                ended(outcome)

        self.scheduler.spawn(delay_ms, body)

    def forget_spare_processes(self) -> None:
        """Let processes that begin from now on be joined anew, as after a deploy."""
        self.joined += 1
        self._spare.clear()

    def stand_still(self, duration_ms: int) -> None:
        """Let a day pass in which nothing of ours runs, as in an outage of the region."""
        self.scheduler.stand_still(duration_ms)
        self.stood_still_at_ms = self.scheduler.now_ms

    def count_step(self) -> None:
        """Count a call of a port."""
        self.steps += 1
        if self.steps > MAX_STEPS:
            self.check.fail("liveness", f"not quiet after {MAX_STEPS} calls")

    def note(self, text: str, struck: StrEnum | None) -> None:
        """Write a line of the trace."""
        if self.trace is not None:
            at = (self.scheduler.now_ms - START_MS) / 1000
            self.trace.append(f"{at:12.3f} {text}" + (f"   <== {struck.value}" if struck else ""))

    # What changes the ledger.

    def commit(self, process: Process, change: Change) -> None:
        """Write a change and check what it did."""
        run_id = change.run.run_id
        before = self.store.load(run_id)
        self.store.commit(change)
        after = self.store.load(run_id)
        assert after is not None
        if self.trace is not None:
            for event in change.events:
                self.note(
                    f"    {event.sequence:3} {event.kind} {event.prior_state}->{event.state}"
                    f" {event.reason}",
                    None,
                )
        self._heads[run_id] = after.run
        self.check.committed(process, before, after, change)
        self.deploys.committed()
        kinds = {event.kind for event in change.events}
        if not kinds <= LOOKED_ONLY:
            self._looks[run_id] = 0
        self._plan_tick()
        if EventKind.APPROVAL_REQUESTED in kinds:
            self._asked += 1
            actors.customer_comes(self, run_id, self._asked)
        if EventKind.REVIEW_REQUIRED in kinds:
            actors.operator_comes(self, run_id)

    # The sweeper's schedule.

    def _plan_tick(self) -> None:
        """Plan the first tick that finds something due; those before it would find nothing."""
        due_ms = [
            head.due_at_ms
            for head in self._heads.values()
            if head.due_at_ms is not None and not self._idle(head)
        ]
        if not due_ms:
            return
        wanted_ms = max(min(due_ms), self.scheduler.now_ms + 1)
        at_ms = START_MS - (START_MS - wanted_ms) // TICK_MS * TICK_MS
        if self._tick_at_ms is None or at_ms < self._tick_at_ms:
            self._tick_at_ms = at_ms
            self.scheduler.at(at_ms, lambda: self._tick(at_ms))

    def _idle(self, head: Run) -> bool:
        waits_for_people = head.state is RunState.REVIEW
        return waits_for_people and self._looks.get(head.run_id, 0) >= IDLE_LOOKS

    def _tick(self, at_ms: int) -> None:
        if self._tick_at_ms != at_ms:
            return  # an earlier one was planned since
        self._tick_at_ms = None
        self._ticks += 1
        for head in self._heads.values():
            if head.state is RunState.REVIEW:
                self._looks[head.run_id] = self._looks.get(head.run_id, 0) + 1
        name = f"sweeper{self._ticks}"
        rng = Dice(self.seed, name)
        self._sweep(name, int(rng.random() * 2_000))
        if self.plan.pick("tick", name, 0, rng) is Fault.TICK_TWICE:
            self._sweep(f"{name}b", int(rng.random() * 2_000))

    def _sweep(self, name: str, delay_ms: int) -> None:
        """Name what is due to the queue, whose messages others look after."""

        def body(process: Process) -> None:
            queue = Queue(process, self._look_after)
            try:
                nominate(process.ports.store, process, queue, process)
            finally:
                if not queue.delivers:
                    self._plan_tick()

        self.run_process("tick", name, body, delay_ms=delay_ms)

    def _look_after(self, name: str, run_id: str, delay_ms: int, received: int = 1) -> None:
        """Have a worker take a message, and again when it dies over it."""

        def ended(outcome: object) -> None:
            if outcome == DIED and received < MAX_RECEIVED:
                self._look_after(f"{name}r", run_id, VISIBLE_AGAIN_MS, received + 1)
            self._plan_tick()

        def body(process: Process) -> None:
            look_after(process.ports, process, run_id)

        self.run_process("sweeper", name, body, ended, delay_ms=delay_ms)
