"""One projection of a run. Customer, operator and model read this, so they cannot disagree."""

from ledger.approval import Approval, ApprovalState
from ledger.effect import ATTESTED, Effect, Evidence
from ledger.instance import instance_of, is_done
from ledger.record import Record, Scalar
from ledger.resume import next_state
from ledger.run import RunLedger
from ledger.transitions import OPEN_RUN_STATES, EffectState, RunState
from ledger.validity import has_ended, valid_until_ms
from ledger.workflow import Operation, WorkflowDefinition


class EffectFacts(Record):
    """What the ledger holds about one outside write."""

    effect_id: str
    operation: str
    label: str
    instance: int
    state: EffectState
    bound: dict[str, Scalar]
    record_id: str | None
    """The provider's record, once a read or its answer has shown it."""

    attested: bool
    """Whether an operator's word stands in for the provider's."""

    provider_status: str
    proven_fields: dict[str, Scalar]
    """What was read back; empty while the effect is not confirmed."""

    attempts: int
    last_fault: str
    idempotency_key: str
    generation: int
    key_first_used_at_ms: int | None
    key_protects_until_ms: int | None
    unsettled_since_ms: int | None
    overdue_at_ms: int | None
    overdue: bool
    recheck_at_ms: int | None
    """When the owner of a confirmed record is asked once more."""

    candidates: tuple[Evidence, ...]
    remarks: tuple[str, ...]
    valid_until_ms: int | None
    """Until when what it gave is to be had; None where that has no end."""

    ended: bool
    """Whether that time is over, as it was meant to be."""

    undone: bool
    """Whether it was confirmed and has been taken back since, by a counter-effect."""

    may_be_undone: bool
    """Whether it was confirmed, and a counter-effect was begun whose outcome is not proven."""

    over: bool
    """Whether another instance counts in its place: it was refused, given up by a person, or
    reported something that was replaced since."""


class ApprovalFacts(Record):
    """What was or is asked of a person."""

    approval_id: str
    digest: str
    payload: dict[str, dict[str, Scalar]]
    state: str
    expired: bool
    expires_at_ms: int
    decided_by: str | None
    decided_at_ms: int | None


class RunFacts(Record):
    """A run at one version of its ledger."""

    run_id: str
    tenant_id: str
    customer_id: str
    workflow: str
    view_version: int
    """The number of the newest event. An action names the version it was chosen on."""

    state: RunState
    review_reason: str
    review_also: tuple[str, ...]
    """What else came up since the review began, oldest first."""

    settled_in_review: tuple[str, ...]
    """Labels of the effects whose outcome was found out since the review began."""

    engineering: bool
    opened_at_ms: int
    closed_at_ms: int | None
    executions: int
    proven: tuple[str, ...]
    """Checkpoints whose claims hold now, in the order of the stages."""

    claims: tuple[str, ...]
    next_state: str
    effects: tuple[EffectFacts, ...]
    not_begun: tuple[str, ...]
    """Labels of the operations that have no effect which counts yet."""

    approval: ApprovalFacts | None

    last_verified_checkpoint: str | None
    """The checkpoint from which the run would go on, None before the first."""

    @property
    def is_open(self) -> bool:
        """Return whether anything may still happen."""
        return self.state in OPEN_RUN_STATES

    @property
    def counting_effects(self) -> tuple[EffectFacts, ...]:
        """Return the effects that are not over, in the order of the work."""
        return tuple(found for found in self.effects if not found.over)


def last_verified(definition: WorkflowDefinition, ledger: RunLedger) -> str | None:
    """Return the last checkpoint before the first that is not proven: what follows a gap waits."""
    last: str | None = None
    for stage in definition.stages:
        if not is_done(definition, ledger, stage):
            return last
        last = stage.checkpoint
    return last


def project(definition: WorkflowDefinition, ledger: RunLedger, now_ms: int) -> RunFacts:
    """Return the facts of a run, from the ledger alone."""
    run = ledger.run
    proven = [stage.checkpoint for stage in definition.stages if is_done(definition, ledger, stage)]
    by_operation = {
        operation.name: sorted(
            (found for found in ledger.effects if found.operation == operation.name),
            key=lambda found: found.instance,
        )
        for operation in definition.operations
    }
    approval = ledger.newest_approval()
    return RunFacts(
        run_id=run.run_id,
        tenant_id=run.tenant_id,
        customer_id=run.customer_id,
        workflow=run.workflow,
        view_version=run.sequence,
        state=run.state,
        review_reason=run.review_reason if run.state is RunState.REVIEW else "",
        review_also=run.review_also,
        settled_in_review=tuple(
            definition.operation(found.operation).label
            for found in ledger.effects
            if found.effect_id in run.settled_in_review
        ),
        engineering=run.engineering,
        opened_at_ms=run.opened_at_ms,
        closed_at_ms=run.closed_at_ms,
        executions=run.epoch,
        proven=tuple(proven),
        claims=tuple(
            definition.contract(name).claim for name in proven if _may_be_told(ledger, name)
        ),
        next_state=next_state(definition, ledger),
        last_verified_checkpoint=last_verified(definition, ledger),
        effects=tuple(
            _effect_facts(
                effect,
                operation.label,
                now_ms,
                undone=ledger.is_undone(effect.effect_id),
                may_be_undone=ledger.may_be_undone(effect.effect_id),
                over=_is_over(ledger, operation, effect),
            )
            for operation in definition.operations
            for effect in by_operation[operation.name]
        ),
        not_begun=tuple(
            operation.label
            for operation in definition.own_operations
            if all(_is_over(ledger, operation, effect) for effect in by_operation[operation.name])
        ),
        approval=_approval_facts(approval, now_ms) if approval else None,
    )


def _may_be_told(ledger: RunLedger, checkpoint: str) -> bool:
    """Return whether a claim that is proven may be told as it stands.

    One that a counter-effect may have undone is not. A person's word is told as such beside the
    effect. A yes speaks of what was asked then, and is not repeated while something else is asked,
    or after a no.
    """
    proof = ledger.proven(checkpoint)
    newest = ledger.newest_approval()
    if proof is None or proof.evidence.record_id == ATTESTED:
        return False
    if proof.effect_id is not None and ledger.may_be_undone(proof.effect_id):
        return False
    given = ledger.approval(proof.evidence.record_id)
    return given is None or newest is None or newest.state is ApprovalState.APPROVED


def _is_over(ledger: RunLedger, operation: Operation, effect: Effect) -> bool:
    replaced = effect.instance != instance_of(ledger, operation)
    # Another instance beside one that is in doubt, or that moved money, is no reason to hide it.
    reported = bool(operation.evidence_fields) and effect.state is EffectState.CONFIRMED
    without_effect = effect.state in (EffectState.REJECTED, EffectState.PLANNED)
    return replaced and (effect.superseded or reported or without_effect)


def _effect_facts(
    effect: Effect, label: str, now_ms: int, *, undone: bool, may_be_undone: bool, over: bool
) -> EffectFacts:
    evidence = effect.evidence
    confirmed = effect.state is EffectState.CONFIRMED
    stands = confirmed and not undone and not may_be_undone
    return EffectFacts(
        effect_id=effect.effect_id,
        operation=effect.operation,
        label=label,
        instance=effect.instance,
        state=effect.state,
        bound=effect.bound,
        record_id=evidence.record_id if evidence else None,
        attested=confirmed and evidence is not None and evidence.record_id == ATTESTED,
        provider_status=evidence.provider_status if evidence else "",
        proven_fields=evidence.fields if evidence and stands else {},
        attempts=len(effect.attempts),
        last_fault=effect.attempts[-1].fault if effect.attempts else "",
        idempotency_key=effect.idempotency_key,
        generation=effect.generation,
        key_first_used_at_ms=effect.key_first_used_at_ms,
        key_protects_until_ms=effect.key_protects_until_ms,
        unsettled_since_ms=effect.unsettled_since_ms,
        overdue_at_ms=effect.overdue_at_ms(),
        overdue=effect.overdue,
        recheck_at_ms=effect.recheck_at_ms(),
        candidates=effect.candidates,
        remarks=effect.remarks,
        valid_until_ms=valid_until_ms(effect.bound),
        ended=has_ended(effect.bound, now_ms),
        undone=undone,
        may_be_undone=may_be_undone and confirmed and not undone,
        over=over,
    )


def _approval_facts(approval: Approval, now_ms: int) -> ApprovalFacts:
    return ApprovalFacts(
        approval_id=approval.approval_id,
        digest=approval.digest,
        payload=approval.payload,
        state=approval.state,
        expired=approval.expired(now_ms),
        expires_at_ms=approval.expires_at_ms,
        decided_by=approval.decided_by,
        decided_at_ms=approval.decided_at_ms,
    )
