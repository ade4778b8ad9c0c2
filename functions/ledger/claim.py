"""The claim: the intent is on record, under one key and one lease, before anything is sent."""

from collections.abc import Mapping

from ledger.attempt import Attempt
from ledger.authorise import missing_grant
from ledger.compensation import no_reason_to_undo
from ledger.contract import ProviderContract
from ledger.draft import Draft
from ledger.effect import Effect
from ledger.errors import (
    ApprovalNeeded,
    EffectInProgress,
    EffectPending,
    EffectUnknown,
    ReviewRequired,
)
from ledger.event import EventKind
from ledger.idempotency import idempotency_key_for
from ledger.instance import check_no_other, instance_of
from ledger.pace import unreached_attempts
from ledger.plan import note_planned, planned_again
from ledger.ports import Ports
from ledger.record import Scalar
from ledger.short import short_fields
from ledger.task import Task, check_may_act
from ledger.transitions import EffectState
from ledger.update import update
from ledger.workflow import Operation, WorkflowDefinition

# One ledger transaction with its bounded retries: the store gives up after 12 s.
LEDGER_WRITE_MARGIN_SECONDS = 15
# Harmless, so many more than of those that were sent; bounded all the same, for each is kept with
# its effect. With the pauses between them, 20 last some eight hours.
MAX_UNREACHED_ATTEMPTS = 20


def check_can_begin(effect: Effect, now_ms: int) -> None:
    """Raise what stands in the way of a new attempt; return when nothing does."""
    match effect.state:
        case EffectState.PLANNED:
            return
        case EffectState.ATTEMPTING if effect.claim_is_live(now_ms):
            raise EffectInProgress(f"Another worker is inside the call of {effect.effect_id}.")
        case EffectState.ATTEMPTING | EffectState.UNKNOWN:
            raise EffectUnknown(f"The last answer about {effect.effect_id} was lost; read first.")
        case EffectState.ACCEPTED:
            raise EffectPending(f"The provider has not finished {effect.effect_id}; read first.")
        case _:
            raise ReviewRequired(f"{effect.operation} is {effect.state}; a person has to look.")


def claim(
    ports: Ports,
    definition: WorkflowDefinition,
    operation: Operation,
    task: Task,
    planned: Effect,
    authority: Mapping[str, Scalar],
) -> Effect:
    """Return the effect as claimed for one attempt, or confirmed meanwhile. No claim, no call."""
    contract = ports.providers[operation.provider].contract
    attempt_id = ports.ids.new_id()

    def decide(draft: Draft) -> None:
        ledger = draft.ledger
        check_may_act(ledger, task)
        effect = ledger.effect(planned.effect_id)
        if effect is not None and effect.state is EffectState.PLANNED:
            effect = planned_again(effect, planned)
        if effect is None:
            effect = planned
            note_planned(draft, effect)
        if effect.state is EffectState.CONFIRMED:
            return  # a duplicate of this worker was faster
        if instance_of(ledger, operation) != effect.instance:
            raise EffectUnknown(f"An earlier {operation.name} may exist after all; read first.")
        check_no_other(ledger, operation, effect)
        check_can_begin(effect, draft.now_ms)
        missing = missing_grant(definition, effect, ledger, draft.now_ms)
        if missing:
            raise ApprovalNeeded(f"{operation.name}: {missing}. Nothing was sent.")
        if effect.compensates is not None:
            unwanted = no_reason_to_undo(definition, ledger, effect.compensates)
            if unwanted:
                raise ApprovalNeeded(f"{operation.name}: {unwanted} Nothing was sent.")
        unproven = [name for name in operation.requires if ledger.proven(name) is None]
        if unproven:
            raise ReviewRequired(f"{operation.name} needs {unproven}, which is not proven.")
        _check_attempts(effect, contract)
        _write_claim(draft, contract, task, effect, attempt_id, authority)

    claimed = update(ports, task.run_id, task.actor, decide)
    return claimed.require_effect(planned.effect_id)


def _check_attempts(effect: Effect, contract: ProviderContract) -> None:
    """Raise ReviewRequired when trying again has stopped being a way on."""
    unreached = unreached_attempts(effect)
    sent = len(effect.counted_attempts) - len(unreached)
    if sent >= contract.max_attempts or len(unreached) >= MAX_UNREACHED_ATTEMPTS:
        raise ReviewRequired(
            f"{effect.operation}: {len(effect.attempts)} attempts were made, {len(unreached)} of "
            "them never reached the provider."
        )


def _write_claim(
    draft: Draft,
    contract: ProviderContract,
    task: Task,
    effect: Effect,
    attempt_id: str,
    authority: Mapping[str, Scalar],
) -> None:
    effect = _with_living_key(draft, contract, effect)
    approval = draft.ledger.newest_approval()
    if approval is not None and effect.operation in approval.payload:
        spent_on = {**approval.spent_on, effect.operation: effect.effect_id}
        draft.put_approval(approval.model_copy(update={"spent_on": spent_on}))
        effect = effect.model_copy(update={"approval_id": approval.approval_id})
    # The read-back belongs to the claim: a second worker must not begin while it runs.
    lease_seconds = 2 * contract.call_timeout_seconds + LEDGER_WRITE_MARGIN_SECONDS
    attempt = Attempt(
        attempt_id=attempt_id,
        number=len(effect.attempts) + 1,
        generation=effect.generation,
        epoch=task.epoch,
        claimed_at_ms=draft.now_ms,
        lease_until_ms=draft.now_ms + lease_seconds * 1000,
    )
    draft.move_effect(
        effect,
        EffectState.ATTEMPTING,
        EventKind.EFFECT_CLAIMED,
        f"attempt {attempt.number} under key generation {attempt.generation}",
        details={
            "attempt_id": attempt_id,
            "request_digest": effect.request.digest,
            **{f"authority_{name}": value for name, value in short_fields(authority).items()},
        },
        attempts=(*effect.attempts, attempt),
        absence_reads_at_ms=(),
        candidates=(),
    )


def _with_living_key(draft: Draft, contract: ProviderContract, effect: Effect) -> Effect:
    """Return the effect under a key that the provider will still know after this call."""
    if contract.key_lifetime_seconds is None:
        return effect
    protects_seconds = contract.key_lifetime_seconds - contract.key_margin_seconds
    first_use = {
        "key_first_used_at_ms": draft.now_ms,
        "key_protects_until_ms": draft.now_ms + protects_seconds * 1000,
    }
    protects_until_ms = effect.key_protects_until_ms
    if protects_until_ms is None:
        return effect.model_copy(update=first_use)
    if draft.now_ms + contract.call_timeout_seconds * 1000 < protects_until_ms:
        return effect
    generation = effect.generation + 1
    key = idempotency_key_for(
        draft.ledger.run.run_id, effect.operation, effect.bound, effect.instance, generation
    )
    return effect.model_copy(update={"generation": generation, "idempotency_key": key, **first_use})
