"""Turn what was learned about an effect into state, evidence, checkpoint and events."""

from ledger.attempt import AttemptOutcome
from ledger.checkpoint import Checkpoint
from ledger.compare import Judgement, Verdict
from ledger.draft import Draft
from ledger.effect import ATTESTED, Effect, Evidence
from ledger.errors import ReviewRequired
from ledger.event import EventKind
from ledger.provider import ProviderRecord
from ledger.short import short_record
from ledger.transitions import EffectState, RunState


def evidence_of(effect: Effect, record: ProviderRecord, read_at_ms: int) -> Evidence:
    """Return ``record`` as evidence: named fields of some length, so that none breaks a write."""
    kept = short_record(record)
    return Evidence(
        source=effect.provider,
        record_id=kept.record_id,
        provider_status=kept.provider_status,
        fields=kept.fields,
        read_at_ms=read_at_ms,
    )


def with_outcome(effect: Effect, outcome: AttemptOutcome, fault: str = "") -> Effect:
    """Return ``effect`` with its newest attempt ended."""
    ended = effect.attempts[-1].model_copy(update={"outcome": outcome, "fault": fault})
    return effect.model_copy(update={"attempts": (*effect.attempts[:-1], ended)})


def settle_unknown(draft: Draft, effect: Effect, reason: str, fault: str = "") -> Effect:
    """Move an attempt whose answer was lost to unknown: not failed, not done."""
    return reopen_unknown(draft, with_outcome(effect, AttemptOutcome.UNKNOWN, fault), reason)


def reopen_unknown(draft: Draft, effect: Effect, reason: str) -> Effect:
    """Move an effect to unknown and leave what its attempts came to as it is."""
    return draft.move_effect(
        effect,
        EffectState.UNKNOWN,
        EventKind.EFFECT_UNKNOWN,
        reason,
        unsettled_since_ms=draft.now_ms,
        absence_reads_at_ms=(),
    )


def settle_accepted(draft: Draft, effect: Effect, record: ProviderRecord, reason: str) -> Effect:
    """Keep the provider's receipt: it holds the record, whatever it has yet to do with it."""
    found = effect.state is EffectState.UNKNOWN
    outcome = AttemptOutcome.FOUND if found else AttemptOutcome.ACCEPTED
    evidence = evidence_of(effect, record, draft.now_ms)
    return draft.move_effect(
        with_outcome(effect, outcome),
        EffectState.ACCEPTED,
        EventKind.EFFECT_ACCEPTED,
        reason,
        details={"record_id": evidence.record_id, "provider_status": evidence.provider_status},
        evidence=evidence,
        unsettled_since_ms=draft.now_ms,
        overdue=False,
    )


def settle_confirmed(draft: Draft, effect: Effect, record: ProviderRecord, reason: str) -> Effect:
    """Confirm the effect and reach its checkpoint."""
    evidence = evidence_of(effect, record, draft.now_ms)
    if effect.state is EffectState.UNKNOWN:
        effect = with_outcome(effect, AttemptOutcome.FOUND)
    confirmed = draft.move_effect(
        effect,
        EffectState.CONFIRMED,
        EventKind.EFFECT_CONFIRMED,
        reason,
        details={"record_id": evidence.record_id, **evidence.fields},
        evidence=evidence,
        unsettled_since_ms=None,
        overdue=False,
        reconcile_reads=0,
        rechecks_made=0,
        candidates=(),
    )
    twin = _confirmed_twin(draft, confirmed)
    if twin is None or twin.instance < confirmed.instance:
        _reach(draft, confirmed, evidence, reason)
    if twin is not None:
        draft.send_to_review(
            f"{effect.operation} was made twice: {evidence.record_id} beside {_record_id(twin)}"
        )
    end_recovered_review(draft, reason)
    end_needless_wait(draft)
    return confirmed


def check_proves(effect: Effect) -> None:
    """Raise ReviewRequired when a confirmed effect shows less than its checkpoint asks for."""
    missing = effect.unproven_fields
    if missing:
        raise ReviewRequired(
            f"{effect.operation} is done, and its record does not show {', '.join(missing)}: "
            f"{effect.checkpoint} is not proven"
        )


def _reach(draft: Draft, effect: Effect, evidence: Evidence, reason: str) -> None:
    """Reach the checkpoint of a confirmed effect, or let a person see what its proof lacks."""
    try:
        check_proves(effect)
    except ReviewRequired as required:
        draft.send_to_review(str(required))
        return
    checkpoint = Checkpoint(
        name=effect.checkpoint,
        evidence=evidence,
        reached_at_ms=draft.now_ms,
        effect_id=effect.effect_id,
    )
    draft.reach(checkpoint, reason)


def is_attested(effect: Effect) -> bool:
    """Return whether a person's word stands in for the provider's."""
    return effect.evidence is not None and effect.evidence.record_id == ATTESTED


def prove_attested(draft: Draft, effect: Effect, record: ProviderRecord, reason: str) -> Effect:
    """Return a confirmed effect with the provider's record in the place of a person's word."""
    evidence = evidence_of(effect, record, draft.now_ms)
    proven = effect.model_copy(update={"evidence": evidence})
    draft.put_effect(proven)
    draft.note(
        EventKind.EFFECT_CONFIRMED,
        reason,
        subject=effect.effect_id,
        prior=effect.state,
        state=effect.state,
        details={"record_id": evidence.record_id},
    )
    _reach(draft, proven, evidence, reason)
    return proven


def _confirmed_twin(draft: Draft, effect: Effect) -> Effect | None:
    """Return another instance that is confirmed as well: one that had been given up, and is there.

    Writes that need no approval report something; a second one has something else to report.
    """
    twins = [
        found
        for found in draft.ledger.effects
        if found.operation == effect.operation
        and found.effect_id != effect.effect_id
        and found.state is EffectState.CONFIRMED
        and found.approval_id is not None
    ]
    return max(twins, key=lambda found: found.instance, default=None)


def reach_what_stands(draft: Draft, gone: Effect) -> None:
    """Reach the checkpoint of ``gone`` by another instance that is there, now that this one is not.

    Of two that were confirmed the newer one proved the claim; what is left proves it as well.
    """
    twin = _confirmed_twin(draft, gone)
    if twin is not None and twin.evidence is not None and not twin.superseded:
        reason = f"{twin.evidence.record_id} stands, and what came after it does not"
        _reach(draft, twin, twin.evidence, reason)


def _record_id(effect: Effect) -> str:
    return effect.evidence.record_id if effect.evidence else ""


def lapsed(draft: Draft, effect: Effect) -> Effect:
    """Return the effect as unknown when the worker that attempted it is not coming back."""
    if effect.state is not EffectState.ATTEMPTING:
        return effect
    return settle_unknown(draft, effect, "no answer of its worker is on record")


def settle_conflict(draft: Draft, effect: Effect, judgement: Judgement) -> Effect:
    """Stop for review with every record that may be ours."""
    moved = draft.move_effect(
        effect,
        EffectState.CONFLICT,
        EventKind.EFFECT_CONFLICT,
        judgement.reason,
        candidates=tuple(
            evidence_of(effect, found, draft.now_ms) for found in judgement.candidates
        ),
        unsettled_since_ms=None,
    )
    draft.send_to_review(f"{effect.operation}: {judgement.reason}")
    return moved


def settle_rejected(
    draft: Draft,
    effect: Effect,
    reason: str,
    fault: str = "",
    in_the_way: tuple[ProviderRecord, ...] = (),
) -> Effect:
    """Record the provider's definite no, with what may explain it, and stop for review."""
    ended = with_outcome(effect, AttemptOutcome.REFUSED, fault)
    moved = draft.move_effect(
        ended,
        EffectState.REJECTED,
        EventKind.EFFECT_REJECTED,
        reason,
        candidates=tuple(evidence_of(effect, found, draft.now_ms) for found in in_the_way),
        unsettled_since_ms=None,
    )
    reach_what_stands(draft, moved)
    draft.send_to_review(f"{effect.operation}: {reason}")
    return moved


def settle_not_reached(draft: Draft, effect: Effect, fault: str) -> Effect:
    """Return the effect to planned: its only attempt in doubt had no effect."""
    moved = draft.move_effect(
        with_outcome(effect, AttemptOutcome.NOT_REACHED, fault),
        EffectState.PLANNED,
        EventKind.EFFECT_NOT_REACHED,
        f"the request had no effect: {fault}",
        unsettled_since_ms=None,
        overdue=False,
    )
    reach_what_stands(draft, moved)
    return moved


def settle_found(draft: Draft, effect: Effect, judgement: Judgement) -> Effect:
    """Apply a verdict that rests on records; ``effect`` is unknown or accepted.

    A match on an unfinished record still passes through accepted, so that the trail shows the
    provider's word in the order in which it came.
    """
    record = judgement.record
    if judgement.verdict is Verdict.CONFLICT or record is None:
        return settle_conflict(draft, effect, judgement)
    if judgement.verdict is Verdict.MATCH:
        return settle_confirmed(draft, effect, record, judgement.reason)
    if effect.state is EffectState.UNKNOWN:
        effect = settle_accepted(draft, effect, record, judgement.reason)
        end_recovered_review(draft, judgement.reason)
    if judgement.verdict is Verdict.FAILED:
        return settle_rejected(draft, effect, judgement.reason)
    return effect


def end_needless_wait(draft: Draft) -> None:
    """Let the run go on when what it waits to be allowed has been found done."""
    run = draft.ledger.run
    pending = draft.ledger.pending_approval()
    if run.state is not RunState.AWAITING_APPROVAL or pending is None:
        return
    done = {
        found.operation for found in draft.ledger.effects if found.state is EffectState.CONFIRMED
    }
    if set(pending.payload) <= done:
        draft.move_run(
            RunState.ACTIVE,
            EventKind.APPROVAL_WAIT_ENDED,
            "everything that was asked for is proven already",
            execution_started=False,
        )


def end_recovered_review(draft: Draft, reason: str) -> None:
    """Let the run go on when what it was in review for has been proven meanwhile.

    ``reason`` says by what: a read, a late word of a worker, or a person.
    """
    run = draft.ledger.run
    still_overdue = any(found.overdue for found in draft.ledger.unsettled_effects())
    if run.state is RunState.REVIEW and run.review_recovers and not still_overdue:
        draft.move_run(
            RunState.ACTIVE,
            EventKind.REVIEW_ENDED,
            f"what was overdue is settled: {reason}",
            review_reason="",
            review_recovers=False,
            execution_started=False,
        )
