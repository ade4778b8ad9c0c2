"""Valid values of the domain, each field overridable by name."""

from typing import Any

from ledger.approval import Approval
from ledger.attempt import Attempt
from ledger.checkpoint import Checkpoint
from ledger.effect import Effect, Evidence, FrozenRequest
from ledger.event import Actor, Event, EventKind
from ledger.record import Scalar
from ledger.run import PersonalFields, Run
from ledger.store import Change
from ledger.transitions import EffectState, RunState

NOW_MS = 1_767_225_600_000  # 2026-01-01 00:00 UTC
RUN_ID = "run-1"
WORKFLOW = "cancel-refund@4"
REFUND_BOUND: dict[str, Scalar] = {"charge_id": "ch_1", "amount_minor": 7900, "currency": "USD"}


def a_run(**overrides: Any) -> Run:
    """Return an open run that is due at ``NOW_MS``."""
    return Run.model_validate(
        {
            "run_id": RUN_ID,
            "tenant_id": "tenant-1",
            "customer_id": "cus_1",
            "workflow": WORKFLOW,
            "state": RunState.ACTIVE,
            "request": {"customer_id": "cus_1", "subscription_id": "sub_1", **REFUND_BOUND},
            "request_digest": "sha256:00",
            "opened_at_ms": NOW_MS,
            "epoch": 1,
            "due_at_ms": NOW_MS,
            "progress_deadline_seconds": 900,
            "max_executions": 5,
            **overrides,
        }
    )


def an_attempt(**overrides: Any) -> Attempt:
    """Return a first attempt whose worker may still be inside the call."""
    return Attempt.model_validate(
        {
            "attempt_id": "attempt-1",
            "number": 1,
            "generation": 1,
            "epoch": 1,
            "claimed_at_ms": NOW_MS,
            "lease_until_ms": NOW_MS + 30_000,
            **overrides,
        }
    )


def evidence(**overrides: Any) -> Evidence:
    """Return what was read of a refund."""
    return Evidence.model_validate(
        {
            "source": "stripe",
            "record_id": "re_1",
            "provider_status": "succeeded",
            "fields": {**REFUND_BOUND, "livemode": False},
            "read_at_ms": NOW_MS,
            **overrides,
        }
    )


def an_effect(**overrides: Any) -> Effect:
    """Return a refund that is planned and approved."""
    return Effect.model_validate(
        {
            "effect_id": "effect-refund-1",
            "operation": "issue_refund",
            "provider": "stripe_refunds",
            "instance": 1,
            "state": EffectState.PLANNED,
            "bound": REFUND_BOUND,
            "request": FrozenRequest.create({"charge": "ch_1", "amount": 7900}),
            "idempotency_key": "key-1",
            "generation": 1,
            "checkpoint": "refund_confirmed",
            "approval_id": "approval-1",
            "recovery_deadline_seconds": 86_400,
            "pending_deadline_seconds": 604_800,
            **overrides,
        }
    )


def an_approval(**overrides: Any) -> Approval:
    """Return an approval of the refund that waits for its decision."""
    payload = {"issue_refund": REFUND_BOUND}
    return Approval.model_validate(
        {
            "approval_id": "approval-1",
            "workflow": WORKFLOW,
            "checkpoint": "request_approved",
            "payload": payload,
            "digest": Approval.version_digest(WORKFLOW, payload),
            "requested_at_ms": NOW_MS,
            "expires_at_ms": NOW_MS + 3_600_000,
            **overrides,
        }
    )


def a_checkpoint(**overrides: Any) -> Checkpoint:
    """Return a proven refund."""
    return Checkpoint.model_validate(
        {
            "name": "refund_confirmed",
            "evidence": evidence(),
            "reached_at_ms": NOW_MS,
            "effect_id": "effect-refund-1",
            **overrides,
        }
    )


def an_event(**overrides: Any) -> Event:
    """Return the first event of a run."""
    return Event.model_validate(
        {
            "run_id": RUN_ID,
            "sequence": 1,
            "at_ms": NOW_MS,
            "kind": EventKind.RUN_OPENED,
            "actor": Actor(kind="agent", actor_id="agent-1"),
            "reason": "requested",
            "workflow": WORKFLOW,
            "epoch": 1,
            "commit_id": "commit-1",
            **overrides,
        }
    )


def personal_fields(**overrides: Any) -> PersonalFields:
    """Return a customer's personal fields."""
    return PersonalFields.model_validate(
        {"run_id": RUN_ID, "fields": {"email": "ada@example.com", "name": "Ada"}, **overrides}
    )


def a_change(
    commit_id: str = "commit-1",
    expected_sequence: int = 0,
    event_count: int = 1,
    run: Run | None = None,
    **overrides: Any,
) -> Change:
    """Return a consistent change: head and events are numbered on from ``expected_sequence``."""
    last = expected_sequence + event_count
    head = (run or a_run()).model_copy(update={"sequence": last})
    events = tuple(
        an_event(run_id=head.run_id, sequence=sequence, commit_id=commit_id)
        for sequence in range(expected_sequence + 1, last + 1)
    )
    consistent: dict[str, Any] = {
        "commit_id": commit_id,
        "expected_sequence": expected_sequence,
        "run": head,
        "events": events,
    }
    return Change(**{**consistent, **overrides})
