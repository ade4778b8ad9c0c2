"""Which intended occurrence of an operation counts now."""

from ledger.approval import ApprovalState
from ledger.effect import Effect
from ledger.idempotency import FIRST_INSTANCE
from ledger.run import RunLedger
from ledger.transitions import EffectState
from ledger.workflow import Operation, Stage, WorkflowDefinition


def approved_since(ledger: RunLedger, effect: Effect) -> bool:
    """Return whether the customer approved the operation after this effect used its approval."""
    approval = ledger.newest_approval()
    return (
        approval is not None
        and effect.approval_id is not None
        and approval.state is ApprovalState.APPROVED
        and approval.approval_id != effect.approval_id
        and effect.operation in approval.payload
    )


def instance_of(ledger: RunLedger, operation: Operation) -> int:
    """Return the instance that a stage has to bring about.

    After the provider's last no, a new approval asks for a new effect under a new key; so does a
    person who lets a mail be sent again; and so does a receipt whose refund was replaced since.
    """
    newest = ledger.newest_effect(operation.name)
    if newest is None:
        return FIRST_INSTANCE
    over = _is_replaced(ledger, newest) or _is_outdated(ledger, operation, newest)
    return newest.instance + 1 if over else newest.instance


def current_effect(ledger: RunLedger, operation: Operation) -> Effect | None:
    """Return the effect that counts now, None while it was never intended."""
    newest = ledger.newest_effect(operation.name)
    return newest if newest and newest.instance == instance_of(ledger, operation) else None


def is_done(definition: WorkflowDefinition, ledger: RunLedger, stage: Stage) -> bool:
    """Return whether the claim of ``stage`` holds, for what is on record now."""
    if ledger.proven(stage.checkpoint) is None:
        return False
    if stage.operation is None:
        return True
    newest = ledger.newest_effect(stage.operation)
    operation = definition.operation(stage.operation)
    return newest is None or not _is_outdated(ledger, operation, newest)


def is_stuck(ledger: RunLedger, effect: Effect) -> bool:
    """Return whether the effect stands in the way until a person has decided."""
    if effect.superseded:
        return False
    if effect.state is EffectState.REJECTED:
        newest = ledger.newest_effect(effect.operation)
        return newest == effect and not _is_replaced(ledger, effect)
    return effect.state in (EffectState.CONFLICT, EffectState.CONTRADICTED)


def _is_replaced(ledger: RunLedger, effect: Effect) -> bool:
    refused = effect.state is EffectState.REJECTED and approved_since(ledger, effect)
    return refused or effect.superseded


def _is_outdated(ledger: RunLedger, operation: Operation, effect: Effect) -> bool:
    """Return whether a confirmed effect quotes proof in whose place there is another now."""
    if effect.state is not EffectState.CONFIRMED:
        return False
    for name, checkpoint, field in operation.evidence_fields:
        proof = ledger.proven(checkpoint)
        if proof is not None and proof.value(field) != effect.bound.get(name):
            return True
    return False
