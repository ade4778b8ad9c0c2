"""Intend a write: fix its id, its key and its exact bytes before anything is sent."""

from ledger.authorise import bound_fields
from ledger.draft import Draft
from ledger.effect import MAX_REQUEST_BYTES, Effect, FrozenRequest
from ledger.errors import ReviewRequired
from ledger.event import EventKind
from ledger.idempotency import effect_id_for, idempotency_key_for
from ledger.instance import instance_of
from ledger.ports import Ports
from ledger.provider import Intent
from ledger.run import RunLedger
from ledger.transitions import EffectState
from ledger.workflow import Operation, WorkflowDefinition


def existing_or_planned(
    ports: Ports, definition: WorkflowDefinition, operation: Operation, ledger: RunLedger
) -> Effect:
    """Return the operation's effect as stored, or a new one that is not written yet.

    Raises ReviewRequired when the request is larger than a ledger item may hold, or needs
    evidence that is not there.
    """
    run_id = ledger.run.run_id
    instance = instance_of(ledger, operation)
    effect_id = effect_id_for(run_id, operation.name, instance)
    existing = ledger.effect(effect_id)
    if existing is not None and not (
        existing.state is EffectState.PLANNED and operation.evidence_fields
    ):
        return existing
    bound = bound_fields(operation, ledger)
    provider = ports.providers[operation.provider]
    request = FrozenRequest.create(
        provider.compose(
            Intent(run_id=run_id, effect_id=effect_id, operation=operation.name, bound=bound)
        )
    )
    if len(request.body.encode()) > MAX_REQUEST_BYTES:
        raise ReviewRequired(f"The request of {operation.name} is too large to be kept.")
    planned = Effect(
        effect_id=effect_id,
        operation=operation.name,
        provider=operation.provider,
        instance=instance,
        state=EffectState.PLANNED,
        bound=bound,
        request=request,
        idempotency_key=idempotency_key_for(run_id, operation.name, bound, instance, 1),
        generation=1,
        checkpoint=operation.checkpoint,
        proof_fields=definition.contract(operation.checkpoint).evidence_fields,
        compensates=_compensated(operation, ledger),
        approval_id=None,
        recovery_deadline_seconds=provider.contract.recovery_deadline_seconds,
        pending_deadline_seconds=provider.contract.pending_deadline_seconds,
        key_notice_seconds=provider.contract.key_notice_seconds,
        rechecks_after_seconds=provider.contract.rechecks_after_seconds,
    )
    return planned_again(existing, planned) if existing else planned


def _compensated(operation: Operation, ledger: RunLedger) -> str | None:
    """Return the id of the effect that ``operation`` takes back, None when it takes none."""
    approval = ledger.newest_approval()
    return approval.compensates if operation.compensates and approval else None


def note_planned(draft: Draft, effect: Effect) -> None:
    """Write an effect that was not on record, with its event."""
    draft.put_effect(effect)
    draft.note(
        EventKind.EFFECT_PLANNED,
        f"{effect.operation} intended",
        subject=effect.effect_id,
        state=EffectState.PLANNED,
        details={"request_digest": effect.request.digest},
    )


def planned_again(stored: Effect, planned: Effect) -> Effect:
    """Return ``stored``, or ``planned`` in its place when that quotes other evidence.

    Raises ReviewRequired when the old one may have been sent.
    """
    if stored.bound == planned.bound:
        return stored
    if any(found.was_ever_unknown for found in stored.attempts):
        raise ReviewRequired(f"{stored.operation} quotes evidence that has changed since.")
    return planned.model_copy(update={"attempts": stored.attempts})
