"""Which intended occurrence of an operation counts now."""

from ledger.approval import ApprovalState
from ledger.effect import Effect
from ledger.errors import EffectUnknown, ReviewRequired
from ledger.idempotency import FIRST_INSTANCE
from ledger.run import RunLedger
from ledger.transitions import EffectState
from ledger.workflow import Operation, Stage, WorkflowDefinition

_THERE = frozenset({EffectState.CONFIRMED, EffectState.CONFLICT, EffectState.CONTRADICTED})


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
    One that was given up and is there after all counts, as long as no other was made in its place.
    """
    newest = ledger.newest_effect(operation.name)
    if newest is None:
        return FIRST_INSTANCE
    if newest.state in (EffectState.PLANNED, EffectState.REJECTED):
        done = _done_after_all(ledger, newest)
        if done is not None:
            return done.instance
    over = _is_replaced(ledger, newest) or _is_outdated(ledger, operation, newest)
    return newest.instance + 1 if over else newest.instance


def current_effect(ledger: RunLedger, operation: Operation) -> Effect | None:
    """Return the effect that counts now, None while it was never intended."""
    return ledger.effect_of(operation.name, instance_of(ledger, operation))


def is_done(definition: WorkflowDefinition, ledger: RunLedger, stage: Stage) -> bool:
    """Return whether the claim of ``stage`` holds, for what is on record now."""
    proof = ledger.proven(stage.checkpoint)
    if proof is None or proof.effect_id is None or stage.operation is None:
        return proof is not None
    # Proof of one instance is none of another: a receipt of an earlier refund is not this one's.
    proven_instance = ledger.require_effect(proof.effect_id).instance
    return proven_instance == instance_of(ledger, definition.operation(stage.operation))


def is_stuck(ledger: RunLedger, effect: Effect) -> bool:
    """Return whether the effect stands in the way until a person has decided."""
    if effect.superseded:
        return False
    if effect.state is EffectState.REJECTED:
        newest = ledger.newest_effect(effect.operation)
        replaced = _is_replaced(ledger, effect) or _done_after_all(ledger, effect)
        return newest == effect and not replaced
    return effect.state in (EffectState.CONFLICT, EffectState.CONTRADICTED)


def check_no_other(ledger: RunLedger, operation: Operation, effect: Effect) -> None:
    """Return when no other instance of a write that needs approval is, or may be, there.

    Raises:
        EffectUnknown: an earlier one may exist after all.
        ReviewRequired: one does, or is in conflict; another beside it would be a second payment.
    """
    if not operation.needs_approval:
        return
    for other in ledger.effects:
        if other.operation != operation.name or other.effect_id == effect.effect_id:
            continue
        if other.unsettled:
            raise EffectUnknown(f"An earlier {operation.name} may exist after all; read first.")
        if other.state in _THERE and not other.superseded:
            raise ReviewRequired(f"An earlier {operation.name} is {other.state}; nothing was sent.")


def _done_after_all(ledger: RunLedger, newest: Effect) -> Effect | None:
    """Return an earlier instance that was approved and is confirmed.

    A write that used no approval reports something, and the newest has something else to report.
    """
    done = [
        found
        for found in ledger.effects
        if found.operation == newest.operation
        and found.state is EffectState.CONFIRMED
        and found.approval_id is not None
        and not found.superseded
    ]
    return max(done, key=lambda found: found.instance, default=None)


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
