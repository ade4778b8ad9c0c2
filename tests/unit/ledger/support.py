"""A small world around the domain: one process, its ports, and what the product does."""

from collections.abc import Callable
from typing import Any

import pytest

from ledger.approval import Approval
from ledger.approve import Decision, decide_approval, request_approval
from ledger.checkpoint import Checkpoint
from ledger.consequence import consequences_of
from ledger.contract import (
    ProviderContract,
)
from ledger.draft import Draft
from ledger.effect import Effect
from ledger.errors import EffectUnknown
from ledger.event import Actor, Event, EventKind
from ledger.idempotency import approval_id_for
from ledger.perform import perform
from ledger.ports import Ports
from ledger.provider import (
    RecordStatus,
)
from ledger.reconcile import Outcome, reconcile_run
from ledger.resume import resume
from ledger.run import Run, RunLedger
from ledger.store import LedgerStore
from ledger.sweep import SweepResult, sweep_run
from ledger.task import Task
from ledger.update import load, update
from ledger.versions import Versions
from ledger.workflow import WorkflowDefinition
from tests.builders import (
    a_change,
    a_run,
    personal_fields,
)
from tests.fakes.clock import FakeClock, FakeIds, FakeTimeLeft
from tests.unit.ledger.outside import Directory, FakeDoorbell, FakeExecutions, RacingStore
from tests.unit.ledger.sample import (
    AGENT,
    CUSTOMER,
    DEFINITION,
    FIRST_TOKEN,
    LEASE_SECONDS,
    MAX_EXECUTIONS,
    NO_ANSWER,
    OPERATOR,
    PAYLOAD,
    PAYMENTS,
    POST,
    REFUND_ID,
    REQUEST,
    RUN_ID,
    SETTLE_WINDOW_SECONDS,
    TASK,
)
from tests.unit.ledger.scripted_provider import ScriptedProvider, Step


class World:
    """One process's ports, and short names for what the product does with them."""

    def __init__(self, definition: WorkflowDefinition = DEFINITION) -> None:
        """Start with an empty ledger and providers that do as they are asked."""
        self.definition = definition
        self.store = RacingStore()
        self.clock = FakeClock()
        self.payments = ScriptedProvider(PAYMENTS)
        self.post = ScriptedProvider(POST)
        self.doorbell = FakeDoorbell()
        self.executions = FakeExecutions()
        self.ids = FakeIds()
        self.versions: Versions | None = Versions()

    @property
    def ports(self) -> Ports:
        """Return the wired ports."""
        return self.ports_over(self.store)

    def ports_over(self, store: LedgerStore) -> Ports:
        """Return the ports with another store."""
        return Ports(
            store=store,
            clock=self.clock,
            ids=self.ids,
            providers={"payments": self.payments, "post": self.post},
            directory=Directory(),
            executions=self.executions,
            doorbell=self.doorbell,
            versions=self.versions,
        )

    @property
    def ledger(self) -> RunLedger:
        """Return the run as it stands."""
        return load(self.ports, RUN_ID)

    def run(self) -> Run:
        """Return the run's head as it stands."""
        return self.ledger.run

    def effect(self, effect_id: str = REFUND_ID) -> Effect:
        """Return an effect that must exist."""
        found = self.ledger.effect(effect_id)
        assert found is not None
        return found

    @property
    def events(self) -> tuple[Event, ...]:
        """Return the run's whole trail."""
        return self.store.events(RUN_ID, 0, 1000)

    @property
    def kinds(self) -> list[EventKind]:
        """Return what happened, in order."""
        return [EventKind(event.kind) for event in self.events]

    def pass_seconds(self, seconds: int) -> None:
        """Let time pass."""
        self.clock.pass_ms(seconds * 1000)

    def change(self, decide: Callable[[Draft], None]) -> RunLedger:
        """Apply a change as an operator."""
        return update(self.ports, RUN_ID, OPERATOR, decide)

    def perform(
        self, operation: str = "refund", task: Task = TASK, remaining_ms: int = 60_000
    ) -> Effect:
        """Run an operation's stage once."""
        time_left = FakeTimeLeft(self.clock, self.clock.now_ms() + remaining_ms)
        return perform(self.ports, time_left, self.definition, task, operation)

    def ask(self, task_token: str = FIRST_TOKEN, task: Task = TASK) -> RunLedger:
        """Run the stage that asks the customer."""
        return request_approval(self.ports, self.definition, task, "request_approved", task_token)

    def decide(
        self,
        decision: Decision = Decision.APPROVE,
        ordinal: int = 1,
        digest: str | None = None,
        actor: Actor = CUSTOMER,
    ) -> RunLedger:
        """Let a person answer."""
        approval_id = approval_id_for(RUN_ID, ordinal)
        shown = digest or Approval.payload_digest(PAYLOAD, consequences_of(self.definition))
        return decide_approval(self.ports, RUN_ID, approval_id, shown, decision, actor)

    def approve(self) -> None:
        """Ask and let the customer say yes."""
        self.ask()
        self.decide()

    def reconcile(self) -> Outcome:
        """Look every unsettled effect up once; whatever that shows, nothing is sent."""
        calls = len(self.payments.calls), len(self.post.calls)
        outcome = reconcile_run(self.ports, RUN_ID, TASK.actor)
        assert (len(self.payments.calls), len(self.post.calls)) == calls
        return outcome

    def resume(self, task: Task = TASK) -> str:
        """Ask where the run stands."""
        return resume(self.ports, self.definition, task)

    def sweep(self) -> SweepResult:
        """Look after the run, due or not."""
        return sweep_run(self.ports, RUN_ID)

    def prove_absence(self) -> None:
        """Let the claim lapse and read twice, apart by the settle window."""
        self.pass_seconds(LEASE_SECONDS)
        self.reconcile()
        self.pass_seconds(SETTLE_WINDOW_SECONDS)
        self.reconcile()


def a_world(
    definition: WorkflowDefinition = DEFINITION, *, personal: bool = True, **run: Any
) -> World:
    """Return a world with one open run whose execution has reported in."""
    world = World(definition)
    head = a_run(
        **{
            "run_id": RUN_ID,
            "workflow": definition.version,
            "request": REQUEST,
            "due_at_ms": world.clock.now_ms(),
            "execution_started": True,
            "max_executions": MAX_EXECUTIONS,
            **run,
        }
    )
    stored = personal_fields(run_id=RUN_ID) if personal else None
    world.store.commit(a_change(run=head, personal=stored))
    world.executions.start(definition.version, head.execution_name, RUN_ID, head.epoch)
    return world


def an_approved_world() -> World:
    """Return a world whose customer has said yes and whose execution knows."""
    world = a_world()
    world.approve()
    world.resume()
    return world


def an_unknown_world(
    contract: ProviderContract = PAYMENTS, made: RecordStatus | None = None
) -> World:
    """Return a world whose refund lost its answer and whose claim has lapsed."""
    world = an_approved_world()
    world.payments.contract = contract
    world.payments.script = [Step(made, NO_ANSWER)]
    with pytest.raises(EffectUnknown):
        world.perform()
    world.pass_seconds(LEASE_SECONDS)
    return world


def given(world: World, *records: Effect | Approval | Checkpoint, **run: object) -> None:
    """Write records into the run as they are, with one event."""

    def decide(draft: Draft) -> None:
        for record in records:
            match record:
                case Effect():
                    draft.put_effect(record)
                case Approval():
                    draft.put_approval(record)
                case Checkpoint():
                    draft.reach(record, "given")
        draft.set_run(**run)
        draft.note(EventKind.RECONCILE_READ, "given")

    world.change(decide)


def wait_until_due(world: World) -> None:
    """Let time pass until the run is due."""
    due_at_ms = world.run().due_at_ms
    assert due_at_ms is not None
    world.clock.move_to(due_at_ms)


def a_draft(world: World, actor: Actor = AGENT) -> Draft:
    """Return a draft over the run as it stands."""
    return Draft(world.ledger, actor, world.clock.now_ms(), world.ids.new_id())
