"""``cancel-refund@3`` as data: its request, its stages, what each checkpoint claims."""

from pydantic import Field

from ledger.checkpoint import CompletionContract
from ledger.money import AmountMinor, CurrencyCode
from ledger.record import Record
from ledger.workflow import Operation, Stage, WorkflowDefinition

# Provider ids are short; a longer one is not an id.
MAX_ID_CHARACTERS = 255


class CancelRefundRequest(Record):
    """Whose renewal ends, and what of which charge is paid back."""

    customer_id: str = Field(pattern=r"^cus_[A-Za-z0-9_]+$", max_length=MAX_ID_CHARACTERS)
    subscription_id: str = Field(pattern=r"^sub_[A-Za-z0-9_]+$", max_length=MAX_ID_CHARACTERS)
    charge_id: str = Field(pattern=r"^(ch|py)_[A-Za-z0-9_]+$", max_length=MAX_ID_CHARACTERS)
    amount_minor: AmountMinor
    currency: CurrencyCode


DEFINITION = WorkflowDefinition(
    name="cancel-refund",
    number=3,
    summary="Refund the charge, cancel the renewal, mail a receipt.",
    request_type=CancelRefundRequest,
    # A day: long enough for a customer who sleeps on it, short enough that the charge, the plan
    # and the price shown are still what they were.
    approval_lifetime_seconds=24 * 3600,
    # Longer than any stage with its retries; see the timeouts in the state machine.
    progress_deadline_seconds=15 * 60,
    # Each one is a crash, an abort or a lost start. After five a person should look.
    max_executions=5,
    stages=(
        Stage(
            name="confirm_account",
            checkpoint="account_confirmed",
            timeout_seconds=60,
            providers=("stripe_billing", "stripe_refunds"),
        ),
        Stage(
            name="request_approval",
            checkpoint="request_approved",
            timeout_seconds=30,
            rings_doorbell=True,
        ),
        Stage(
            name="issue_refund",
            checkpoint="refund_confirmed",
            timeout_seconds=60,
            operation="refund",
            providers=("stripe_refunds",),
        ),
        Stage(
            name="cancel_renewal",
            checkpoint="renewal_cancelled",
            timeout_seconds=60,
            operation="cancel_renewal",
            providers=("stripe_billing",),
        ),
        Stage(
            name="send_receipt",
            checkpoint="receipt_sent",
            timeout_seconds=60,
            operation="receipt",
            providers=("ses_mail",),
        ),
    ),
    operations=(
        Operation(
            name="refund",
            label="Refund",
            provider="stripe_refunds",
            checkpoint="refund_confirmed",
            request_fields=("customer_id", "charge_id", "amount_minor", "currency"),
            moves_money=True,
            requires=("account_confirmed", "request_approved"),
        ),
        Operation(
            name="cancel_renewal",
            label="Renewal cancellation",
            provider="stripe_billing",
            checkpoint="renewal_cancelled",
            request_fields=("customer_id", "subscription_id"),
            fixed={"cancel_at": "period_end"},
            requires=("account_confirmed", "request_approved", "refund_confirmed"),
        ),
        Operation(
            name="receipt",
            label="Receipt email",
            provider="ses_mail",
            checkpoint="receipt_sent",
            request_fields=("customer_id",),
            evidence_fields=(
                ("refund_id", "refund_confirmed", "record_id"),
                ("amount_minor", "refund_confirmed", "amount_minor"),
                ("currency", "refund_confirmed", "currency"),
            ),
            requires=("refund_confirmed",),
            # The receipt reports what was approved and done; it asks for nothing new.
            needs_approval=False,
        ),
    ),
    contracts=(
        CompletionContract(
            checkpoint="account_confirmed",
            claim="The account, the plan and the charge were confirmed.",
            owner="stripe_billing",
            evidence_fields=(
                "cancel_renewal_customer_id",
                "cancel_renewal_subscription_id",
                "cancel_renewal_cancel_at",
                "refund_customer_id",
                "refund_charge_id",
                "refund_refundable_minor",
                "refund_currency",
            ),
        ),
        CompletionContract(
            checkpoint="request_approved",
            claim="You approved exactly what was shown.",
            owner="ledger",
            evidence_fields=("digest", "decided_by"),
        ),
        CompletionContract(
            checkpoint="refund_confirmed",
            claim="The payment provider confirms the refund.",
            owner="stripe_refunds",
            evidence_fields=("customer_id", "charge_id", "amount_minor", "currency"),
        ),
        CompletionContract(
            checkpoint="renewal_cancelled",
            claim="The billing system shows that the renewal is off.",
            owner="stripe_billing",
            evidence_fields=("customer_id", "subscription_id", "cancel_at"),
        ),
        CompletionContract(
            checkpoint="receipt_sent",
            claim="The receipt was handed to the mail service.",
            owner="ses_mail",
            evidence_fields=("customer_id", "refund_id", "amount_minor", "currency"),
        ),
    ),
)
