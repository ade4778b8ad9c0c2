"""A small world around the domain: two providers that follow a script, a clock, one workflow."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from adapters.memory_store import MemoryStore
from ledger.approval import Approval
from ledger.approve import Decision, decide_approval, request_approval
from ledger.authorise import approval_payload
from ledger.checkpoint import Checkpoint, CompletionContract
from ledger.contract import (
    Consistency,
    ErrorClass,
    ErrorRule,
    FaultKind,
    LookUp,
    ProviderContract,
)
from ledger.draft import Draft
from ledger.effect import Effect, FrozenRequest
from ledger.errors import LedgerError, RetryLater
from ledger.event import Actor, Event, EventKind
from ledger.idempotency import approval_id_for, effect_id_for, idempotency_key_for
from ledger.perform import perform
from ledger.ports import ExecutionStatus, Ports, StartOutcome
from ledger.provider import (
    Authority,
    Contact,
    Findings,
    Intent,
    ProviderCall,
    ProviderFault,
    ProviderRecord,
    RecordStatus,
)
from ledger.reconcile import Outcome, reconcile_run
from ledger.record import Record, Scalar
from ledger.resume import resume
from ledger.run import RunLedger
from ledger.store import Change, LedgerStore
from ledger.sweep import SweepResult, sweep_run
from ledger.task import Task
from ledger.transitions import EffectState
from ledger.update import load, update
from ledger.workflow import Operation, Stage, WorkflowDefinition
from tests.builders import (
    a_change,
    a_run,
    an_attempt,
    an_effect,
    personal_fields,
)
from tests.fakes.clock import FakeClock, FakeIds, FakeTimeLeft

RUN_ID = "run_a"
REFUND_ID = effect_id_for(RUN_ID, "refund", 1)
RECEIPT_ID = effect_id_for(RUN_ID, "receipt", 1)
CUSTOMER = Actor(kind="customer", actor_id="customer-1")
AGENT = Actor(kind="agent", actor_id="agent-1")
OPERATOR = Actor(kind="operator", actor_id="operator-1")
TASK = Task(run_id=RUN_ID, epoch=1)
REQUEST: dict[str, Scalar] = {
    "customer_id": "cus_1",
    "charge_id": "ch_1",
    "amount_minor": 7900,
    "currency": "USD",
}
BOUND: dict[str, Scalar] = {"charge_id": "ch_1", "amount_minor": 7900, "currency": "USD"}

HOUR_SECONDS = 3600
CALL_TIMEOUT_SECONDS = 10
LEASE_SECONDS = 25  # the call, its read-back, and the margin for one ledger write
SETTLE_WINDOW_SECONDS = 60
KEY_LIFETIME_SECONDS = 24 * HOUR_SECONDS
KEY_MARGIN_SECONDS = HOUR_SECONDS
RECOVERY_DEADLINE_SECONDS = 900
PENDING_DEADLINE_SECONDS = 14 * 24 * HOUR_SECONDS
APPROVAL_LIFETIME_SECONDS = 24 * HOUR_SECONDS
MAX_ATTEMPTS = 3
MAX_EXECUTIONS = 3

NO_ANSWER = ProviderFault(FaultKind.NO_ANSWER)
NEVER_SENT = ProviderFault(FaultKind.NEVER_SENT)
CARD_DECLINED = ProviderFault(FaultKind.ANSWERED, 402, "card_declined")
KEY_IN_USE = ProviderFault(FaultKind.ANSWERED, 409, "key_in_use")
KEY_CONFLICT = ProviderFault(FaultKind.ANSWERED, 400, "idempotency_error")
ALREADY_REFUNDED = ProviderFault(FaultKind.ANSWERED, 400, "charge_already_refunded")
SERVER_ERROR = ProviderFault(FaultKind.ANSWERED, 500)

PAYMENTS = ProviderContract(
    provider="payments",
    needs=frozenset(),
    call_timeout_seconds=CALL_TIMEOUT_SECONDS,
    key_lifetime_seconds=KEY_LIFETIME_SECONDS,
    key_margin_seconds=KEY_MARGIN_SECONDS,
    look_up=LookUp.BY_MARK_IN_LIST,
    look_up_consistency=Consistency.STRONG,
    settle_window_seconds=SETTLE_WINDOW_SECONDS,
    absence_reads=2,
    replay_after_absence=True,
    confirmed_by_read=True,
    recovery_deadline_seconds=RECOVERY_DEADLINE_SECONDS,
    pending_deadline_seconds=PENDING_DEADLINE_SECONDS,
    max_attempts=MAX_ATTEMPTS,
    errors=(
        ErrorRule(error_class=ErrorClass.NOT_REACHED, kind=FaultKind.NEVER_SENT),
        ErrorRule(
            error_class=ErrorClass.KEY_CONFLICT, kind=FaultKind.ANSWERED, code="idempotency_error"
        ),
        ErrorRule(
            error_class=ErrorClass.COMPARE, kind=FaultKind.ANSWERED, code="charge_already_refunded"
        ),
        ErrorRule(error_class=ErrorClass.SAME_KEY_AGAIN, kind=FaultKind.ANSWERED, status=409),
        ErrorRule(error_class=ErrorClass.REFUSED, kind=FaultKind.ANSWERED, status=402),
    ),
)
POST = PAYMENTS.model_copy(
    update={
        "provider": "post",
        "personal_fields": ("email",),
        "key_lifetime_seconds": None,
        "look_up": LookUp.NONE,
        "look_up_consistency": Consistency.EVENTUAL,
        "absence_reads": 0,
        "replay_after_absence": False,
        "confirmed_by_read": False,
    }
)


class RefundRequest(Record):
    """What opens a run of the sample workflow."""

    customer_id: str
    charge_id: str
    amount_minor: int
    currency: str


DEFINITION = WorkflowDefinition(
    name="give-back",
    number=2,
    summary="Ask, refund, tell.",
    request_type=RefundRequest,
    approval_lifetime_seconds=APPROVAL_LIFETIME_SECONDS,
    progress_deadline_seconds=900,
    max_executions=MAX_EXECUTIONS,
    stages=(
        Stage(name="ask_customer", checkpoint="request_approved", timeout_seconds=30),
        Stage(
            name="issue_refund",
            checkpoint="refund_confirmed",
            timeout_seconds=60,
            operation="refund",
            providers=("payments",),
        ),
        Stage(
            name="send_receipt",
            checkpoint="receipt_sent",
            timeout_seconds=60,
            operation="receipt",
            providers=("post",),
        ),
    ),
    operations=(
        Operation(
            name="refund",
            provider="payments",
            checkpoint="refund_confirmed",
            request_fields=("charge_id", "amount_minor", "currency"),
            requires=("request_approved",),
        ),
        Operation(
            name="receipt",
            provider="post",
            checkpoint="receipt_sent",
            request_fields=("customer_id",),
            evidence_fields=(
                ("refund_id", "refund_confirmed", "record_id"),
                ("amount_minor", "refund_confirmed", "amount_minor"),
            ),
            requires=("refund_confirmed",),
            needs_approval=False,
        ),
    ),
    contracts=(
        CompletionContract(
            checkpoint="request_approved",
            claim="You approved exactly what was shown.",
            owner="ledger",
            evidence_fields=("digest", "decided_by"),
        ),
        CompletionContract(
            checkpoint="refund_confirmed",
            claim="The payment provider confirms the refund.",
            owner="payments",
            evidence_fields=("charge_id", "amount_minor", "currency"),
        ),
        CompletionContract(
            checkpoint="receipt_sent",
            claim="The receipt was handed to the mail service.",
            owner="post",
            evidence_fields=("refund_id",),
        ),
    ),
)
PAYLOAD = approval_payload(DEFINITION, REQUEST)
DIGEST = Approval.payload_digest(DEFINITION.version, PAYLOAD)


@dataclass
class Step:
    """What the provider does with one call: keep a record, lose the answer, or both."""

    status: RecordStatus | None = RecordStatus.DONE
    fault: ProviderFault | None = None
    fields: dict[str, Scalar] = field(default_factory=dict)
    """Fields in which the record differs from what was asked."""


@dataclass
class ScriptedProvider:
    """A provider that holds the records it made and does what its script says, then behaves."""

    contract: ProviderContract
    script: list[Step] = field(default_factory=list)
    held: list[ProviderRecord] = field(default_factory=list)
    calls: list[ProviderCall] = field(default_factory=list)
    look_ups: int = 0
    every_page: bool = True
    read_fault: ProviderFault | None = None
    authority_fault: ProviderFault | None = None
    allowed: Authority = field(
        default_factory=lambda: Authority(allowed=True, reason="", snapshot={"refundable": 10000})
    )
    during_call: Callable[[], None] | None = None
    during_look_up: Callable[[], None] | None = None
    consequence_changes: dict[str, Scalar] = field(default_factory=dict)

    def compose(self, intent: Intent) -> dict[str, object]:
        """Return parameters that carry the mark."""
        return {"fields": dict(intent.bound), "mark": intent.effect_id}

    def consequence(self, params: Mapping[str, object]) -> dict[str, Scalar]:
        """Return the fields that the parameters would write."""
        fields = params["fields"]
        assert isinstance(fields, dict)
        return {**fields, **self.consequence_changes}

    def authority(self, bound: Mapping[str, Scalar], personal: Mapping[str, str]) -> Authority:
        """Return what the target's owner says."""
        del bound, personal
        if self.authority_fault is not None:
            raise self.authority_fault
        return self.allowed

    def call(self, call: ProviderCall) -> ProviderRecord:
        """Make the write as the script says."""
        self.calls.append(call)
        step = self.script.pop(0) if self.script else Step()
        made: ProviderRecord | None = None
        if step.status is not None:
            made = self.record(call, step.status, step.fields)
            self.held.append(made)
        if self.during_call is not None:
            self.during_call()
        if step.fault is not None:
            raise step.fault
        assert made is not None
        return made

    def record(
        self, call: ProviderCall, status: RecordStatus, fields: Mapping[str, Scalar]
    ) -> ProviderRecord:
        """Return the record that a call makes."""
        return ProviderRecord(
            record_id=f"{self.contract.provider}_{len(self.calls)}",
            status=status,
            provider_status=status.value,
            mark=call.effect_id,
            fields={**call.bound, **fields},
        )

    def look_up(self, call: ProviderCall) -> Findings:
        """Return what is held, as it was when the read began."""
        del call
        self.look_ups += 1
        if self.read_fault is not None:
            raise self.read_fault
        seen = Findings(records=tuple(self.held), complete=self.every_page)
        if self.during_look_up is not None:
            self.during_look_up()
        return seen


@dataclass
class FakeDoorbell:
    """Remembers who rang; a token that nobody waits on is stale."""

    rung: list[str] = field(default_factory=list)
    stale: set[str] = field(default_factory=set)
    silent: bool = False

    def ring(self, task_token: str) -> bool:
        """Return whether somebody was woken."""
        if self.silent:
            raise RetryLater("no answer")
        self.rung.append(task_token)
        return task_token not in self.stale


@dataclass
class FakeExecutions:
    """Executions by name, each started at most once."""

    statuses: dict[str, ExecutionStatus] = field(default_factory=dict)
    starts: list[str] = field(default_factory=list)
    deployed: bool = True

    def start(self, workflow: str, execution_name: str, run_id: str, epoch: int) -> StartOutcome:
        """Start an execution unless its name was used."""
        assert execution_name == f"{run_id}-e{epoch}"
        assert workflow == DEFINITION.version
        if not self.deployed:
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
        """Return the execution's status."""
        assert workflow == DEFINITION.version
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
        )

    @property
    def ledger(self) -> RunLedger:
        """Return the run as it stands."""
        return load(self.ports, RUN_ID)

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
        return [event.kind for event in self.events]

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

    def ask(self, task_token: str = "token-1", task: Task = TASK) -> RunLedger:
        """Run the stage that asks the customer."""
        return request_approval(
            self.ports, self.definition, task, "request_approved", task_token
        )

    def decide(
        self,
        decision: Decision = Decision.APPROVE,
        ordinal: int = 1,
        digest: str | None = None,
        actor: Actor = CUSTOMER,
    ) -> RunLedger:
        """Let a person answer."""
        approval_id = approval_id_for(RUN_ID, ordinal)
        shown = digest or Approval.payload_digest(
            self.definition.version, approval_payload(self.definition, REQUEST)
        )
        return decide_approval(self.ports, RUN_ID, approval_id, shown, decision, actor)

    def approve(self) -> None:
        """Ask and let the customer say yes."""
        self.ask()
        self.decide()

    def reconcile(self) -> Outcome:
        """Look every unsettled effect up once."""
        return reconcile_run(self.ports, RUN_ID, TASK.actor)

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


def a_refund(state: EffectState = EffectState.PLANNED, **overrides: Any) -> Effect:
    """Return the sample run's refund; one attempt was made unless it is only planned."""
    attempts = () if state is EffectState.PLANNED else (an_attempt(),)
    return an_effect(
        **{
            "effect_id": REFUND_ID,
            "operation": "refund",
            "provider": "payments",
            "state": state,
            "bound": BOUND,
            "request": FrozenRequest.create({"fields": BOUND, "mark": REFUND_ID}),
            "idempotency_key": idempotency_key_for(RUN_ID, "refund", BOUND, 1, 1),
            "approval_id": None,
            "recovery_deadline_seconds": RECOVERY_DEADLINE_SECONDS,
            "pending_deadline_seconds": PENDING_DEADLINE_SECONDS,
            "attempts": attempts,
            **overrides,
        }
    )


def a_record(**overrides: Any) -> ProviderRecord:
    """Return the record of the sample refund, done and with our mark."""
    return ProviderRecord.model_validate(
        {
            "record_id": "re_1",
            "status": RecordStatus.DONE,
            "provider_status": "succeeded",
            "mark": REFUND_ID,
            "fields": BOUND,
            **overrides,
        }
    )


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


def a_draft(world: World, actor: Actor = AGENT) -> Draft:
    """Return a draft over the run as it stands."""
    return Draft(world.ledger, actor, world.clock.now_ms(), world.ids.new_id())
