"""What the customer may be told, from the ledger alone. Nothing unproven is promised."""

from ledger.approval import Approval
from ledger.effect import Effect
from ledger.record import Record, Scalar
from ledger.run import RunLedger
from ledger.transitions import EffectState, RunState
from ledger.workflow import WorkflowDefinition

RUN_WORDS = {
    RunState.ACTIVE: "We are working on your request.",
    RunState.AWAITING_APPROVAL: "We need your approval of exactly what is shown here.",
    RunState.REVIEW: "A person is looking at your request. Nothing will be done twice.",
    RunState.COMPLETED: "Your request is completed.",
    RunState.CLOSED: "Your request is closed. What was done, if anything, is listed here.",
}
EFFECT_WORDS = {
    EffectState.PLANNED: "not started",
    EffectState.ATTEMPTING: "in progress",
    EffectState.UNKNOWN: "being checked with the provider",
    EffectState.ACCEPTED: "accepted by the provider, not finished yet",
    EffectState.CONFIRMED: "confirmed",
    EffectState.REJECTED: "refused by the provider",
    EffectState.CONFLICT: "being reviewed",
    EffectState.CONTRADICTED: "being reviewed",
}


class ApprovalStatus(Record):
    """What the customer is asked; ``digest`` must come back with the answer."""

    approval_id: str
    digest: str
    payload: dict[str, dict[str, Scalar]]
    expires_at_ms: int


class EffectStatus(Record):
    """One outside write, in words that hold."""

    operation: str
    status: str
    record_id: str | None
    fields: dict[str, Scalar]


class CustomerStatus(Record):
    """A run as its customer may see it."""

    run_id: str
    workflow: str
    status: RunState
    message: str
    proven: tuple[str, ...]
    """The claims of the checkpoints reached so far, in the order of the stages."""

    effects: tuple[EffectStatus, ...]
    approval: ApprovalStatus | None


def customer_status(definition: WorkflowDefinition, ledger: RunLedger) -> CustomerStatus:
    """Return the customer's view of a run."""
    pending = ledger.pending_approval()
    waits = ledger.run.state is RunState.AWAITING_APPROVAL
    return CustomerStatus(
        run_id=ledger.run.run_id,
        workflow=ledger.run.workflow,
        status=ledger.run.state,
        message=RUN_WORDS[ledger.run.state],
        proven=tuple(
            definition.contract(stage.checkpoint).claim
            for stage in definition.stages
            if ledger.proven(stage.checkpoint) is not None
        ),
        effects=tuple(
            _effect_status(effect)
            for operation in definition.operations
            for effect in ledger.effects
            if effect.operation == operation.name
        ),
        approval=_approval_status(pending) if pending and waits else None,
    )


def _effect_status(effect: Effect) -> EffectStatus:
    proven = effect.state is EffectState.CONFIRMED and effect.evidence is not None
    return EffectStatus(
        operation=effect.operation,
        status=EFFECT_WORDS[effect.state],
        record_id=effect.evidence.record_id if proven and effect.evidence else None,
        fields=dict(effect.evidence.fields) if proven and effect.evidence else {},
    )


def _approval_status(pending: Approval) -> ApprovalStatus:
    return ApprovalStatus(
        approval_id=pending.approval_id,
        digest=pending.digest,
        payload=pending.payload,
        expires_at_ms=pending.expires_at_ms,
    )
