"""The append-only trail: who changed what, from which state, why."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from ledger.record import Scalar, StoredRecord


class EventKind(StrEnum):
    """What happened. One kind for each change that the ledger can make."""

    RUN_OPENED = "run_opened"
    RUN_MIGRATED = "run_migrated"
    EXECUTION_ASSIGNED = "execution_assigned"
    EXECUTION_RESUMED = "execution_resumed"
    CHECKPOINT_REACHED = "checkpoint_reached"
    CHECKPOINT_WITHDRAWN = "checkpoint_withdrawn"
    APPROVAL_REQUESTED = "approval_requested"
    APPROVAL_WAIT_RENEWED = "approval_wait_renewed"
    APPROVAL_WAIT_ENDED = "approval_wait_ended"
    APPROVAL_GRANTED = "approval_granted"
    APPROVAL_DECLINED = "approval_declined"
    APPROVAL_LAPSED = "approval_lapsed"
    EFFECT_PLANNED = "effect_planned"
    EFFECT_CLAIMED = "effect_claimed"
    EFFECT_ACCEPTED = "effect_accepted"
    EFFECT_CONFIRMED = "effect_confirmed"
    EFFECT_UNKNOWN = "effect_unknown"
    EFFECT_REJECTED = "effect_rejected"
    EFFECT_NOT_REACHED = "effect_not_reached"
    EFFECT_CONFLICT = "effect_conflict"
    EFFECT_CONTRADICTED = "effect_contradicted"
    EFFECT_OVERDUE = "effect_overdue"
    KEY_LAPSING = "key_lapsing"
    RECHECKED = "rechecked"
    RECHECK_MISSED = "recheck_missed"
    REMARK_NOTED = "remark_noted"
    ABSENCE_READ = "absence_read"
    ABSENCE_PROVEN = "absence_proven"
    PROVIDER_UNREADABLE = "provider_unreadable"
    RECONCILE_READ = "reconcile_read"
    RECONCILE_READ_FAILED = "reconcile_read_failed"
    LATE_RESULT_RECORDED = "late_result_recorded"
    OPERATOR_ACTED = "operator_acted"
    SWEEP_CLAIMED = "sweep_claimed"
    REVIEW_REQUIRED = "review_required"
    REVIEW_ENDED = "review_ended"
    RUN_COMPLETED = "run_completed"
    RUN_CLOSED = "run_closed"


class Actor(StoredRecord):
    """Who acted: the kind of actor and an opaque id, never a name or an address."""

    kind: str
    actor_id: str


class Event(StoredRecord):
    """One change, written in the same transaction as the change itself."""

    run_id: str
    sequence: int
    at_ms: int
    kind: Annotated[EventKind | str, Field(union_mode="left_to_right")]
    """Text when newer code has written a kind that is not known here: it is shown as it is."""

    actor: Actor
    reason: str
    workflow: str
    epoch: int
    commit_id: str
    """Names the write, so that a writer whose answer was lost can recognise its own."""

    subject: str = ""
    """The effect, approval, attempt or checkpoint that changed."""

    prior_state: str = ""
    state: str = ""
    details: dict[str, Scalar] = Field(default_factory=dict)
