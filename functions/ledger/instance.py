"""Which intended occurrence of an operation counts now."""

from ledger.approval import ApprovalState
from ledger.effect import Effect
from ledger.idempotency import FIRST_INSTANCE
from ledger.run import RunLedger
from ledger.transitions import EffectState


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


def instance_of(ledger: RunLedger, operation: str) -> int:
    """Return the instance that a stage has to bring about.

    After the provider's last no, a new approval asks for a new effect under a new key; and so does
    a person who lets a mail be sent again.
    """
    newest = ledger.newest_effect(operation)
    if newest is None:
        return FIRST_INSTANCE
    refused = newest.state is EffectState.REJECTED and approved_since(ledger, newest)
    return newest.instance + 1 if refused or newest.superseded else newest.instance


def is_stuck(ledger: RunLedger, effect: Effect) -> bool:
    """Return whether the effect stands in the way until a person has decided."""
    if effect.superseded:
        return False
    if effect.state is EffectState.REJECTED:
        return instance_of(ledger, effect.operation) == effect.instance
    return effect.state in (EffectState.CONFLICT, EffectState.CONTRADICTED)
