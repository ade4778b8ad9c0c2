"""One sample workflow with its request, its two providers' contracts and its records."""

from typing import Any

from ledger.approval import Approval
from ledger.authorise import approval_payload
from ledger.checkpoint import CompletionContract
from ledger.consequence import consequences_of
from ledger.contract import (
    Consistency,
    ErrorClass,
    ErrorRule,
    FaultKind,
    LookUp,
    ProviderContract,
)
from ledger.effect import Effect, FrozenRequest
from ledger.event import Actor
from ledger.idempotency import effect_id_for, idempotency_key_for
from ledger.provider import (
    ProviderFault,
    ProviderRecord,
    RecordStatus,
)
from ledger.record import Record, Scalar
from ledger.run import RunLedger
from ledger.task import Task
from ledger.transitions import EffectState
from ledger.workflow import Operation, Stage, WorkflowDefinition
from tests.builders import (
    a_run,
    an_attempt,
    an_effect,
)

RUN_ID = "run_a"
FIRST_TOKEN = "token-1"
REFUND_ID = effect_id_for(RUN_ID, "refund", 1)
RECEIPT_ID = effect_id_for(RUN_ID, "receipt", 1)
OF_ANOTHER_RUN = effect_id_for("run_b", "refund", 1)
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
LEASE_SECONDS = 35  # the call, its read-back, and the margin for one ledger write
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
        Stage(
            name="ask_customer",
            checkpoint="request_approved",
            timeout_seconds=30,
            rings_doorbell=True,
        ),
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
            label="Refund",
            provider="payments",
            checkpoint="refund_confirmed",
            request_fields=("charge_id", "amount_minor", "currency"),
            requires=("request_approved",),
            moves_money=True,
        ),
        Operation(
            name="receipt",
            label="Receipt email",
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
PAYLOAD = approval_payload(DEFINITION, RunLedger(run=a_run(request=REQUEST)))
CONSEQUENCES = consequences_of(DEFINITION)
DIGEST = Approval.payload_digest(PAYLOAD, CONSEQUENCES)


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
