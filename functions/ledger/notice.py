"""Use what somebody else tells us of an effect. It is never believed: it only makes us look."""

from ledger.answer import keep_late_result, reopen_after_all
from ledger.compare import Judgement, Verdict, judge
from ledger.draft import Draft
from ledger.effect import Effect, LateResult
from ledger.event import Actor, EventKind
from ledger.execution import continue_after_review
from ledger.ports import Ports
from ledger.provider import Findings, ProviderRecord, RecordStatus
from ledger.recheck import find, recheck_confirmed
from ledger.reconcile import reconcile_effect
from ledger.remarks import note_remarks
from ledger.settle import lapsed, settle_found
from ledger.transitions import EffectState, RunState
from ledger.update import update


def look_again(ports: Ports, run_id: str, effect_id: str, actor: Actor) -> bool:
    """Return whether the effect is known, after its provider was asked about it.

    One that is unsettled is reconciled. One that is confirmed is contradicted when its owner now
    says otherwise. One that was refused, or proven absent, is unknown again when its record shows
    after all. No step is taken back for a notice that came late, and a run that was in review only
    for this goes on.

    Raises RetryLater when a system gave no answer: the notice has to be given again.
    """
    ledger = ports.store.load(run_id)
    effect = ledger.effect(effect_id) if ledger else None
    if ledger is None or effect is None:
        return False
    if effect.unsettled:
        reconcile_effect(ports, run_id, effect_id, actor)
    elif effect.state is EffectState.CONFIRMED and not ledger.is_undone(effect_id):
        recheck_confirmed(ports, run_id, effect, actor)
    elif effect.state in (EffectState.PLANNED, EffectState.REJECTED) and effect.attempts:
        _reopen_when_found(ports, run_id, effect, actor)
    if ledger.run.state is RunState.REVIEW:
        continue_after_review(ports, run_id, "a notice led to proof", actor)
    return True


def _reopen_when_found(ports: Ports, run_id: str, effect: Effect, actor: Actor) -> None:
    """Make an effect unknown again, and reconcile it, when the provider shows a record of ours."""
    findings = find(ports, run_id, effect)
    ours = [
        found
        for found in (findings.records if findings else ())
        if found.mark == effect.effect_id and found.status is not RecordStatus.FAILED
    ]
    if not ours:
        return

    def decide(draft: Draft) -> None:
        if draft.ledger.effect(effect.effect_id) == effect:
            reopen_after_all(draft, effect)

    update(ports, run_id, actor, decide)
    reconcile_effect(ports, run_id, effect.effect_id, actor)


def tell(ports: Ports, run_id: str, effect_id: str, record: ProviderRecord, actor: Actor) -> bool:
    """Return whether the effect is known, after its provider's own event feed told of ``record``.

    For providers that cannot be asked: what their feed says of an effect is kept as a late result
    and judged as any other record. One that failed had been accepted before: it is proven, and
    contradicted by its end.

    Raises RetryLater when the ledger gave no answer: the event has to be delivered again.
    """
    ledger = ports.store.load(run_id)
    if ledger is None or ledger.effect(effect_id) is None:
        return False

    def decide(draft: Draft) -> None:
        effect = draft.ledger.require_effect(effect_id)
        if effect.last_attempt is None:
            return  # nothing was ever sent for it: the event is about something else
        if any(late.record == record for late in effect.late_results):
            return  # delivered again: a person may have decided about it since
        accepted = record.model_copy(update={"status": RecordStatus.DONE})
        keep_late_result(draft, effect, effect.last_attempt, accepted)
        if record.status is RecordStatus.FAILED:
            _take_back(draft, effect_id, accepted, f"the provider says {record.provider_status}")
            _remember(draft, effect_id, record)

    update(ports, run_id, actor, decide)
    return look_again(ports, run_id, effect_id, actor)


def _remember(draft: Draft, effect_id: str, record: ProviderRecord) -> None:
    effect = draft.ledger.require_effect(effect_id)
    late = LateResult(
        attempt_id=effect.attempts[-1].attempt_id, record=record, learned_at_ms=draft.now_ms
    )
    draft.put_effect(effect.model_copy(update={"late_results": (*effect.late_results, late)}))


def _take_back(draft: Draft, effect_id: str, accepted: ProviderRecord, reason: str) -> None:
    effect = draft.ledger.require_effect(effect_id)
    if effect.unsettled:
        found = judge(effect, Findings(records=(accepted,), complete=True))
        effect = settle_found(draft, lapsed(draft, effect), found)
    if effect.state is not EffectState.CONFIRMED:
        return
    newest = draft.ledger.newest_effect(effect.operation)
    if newest is not None and newest.instance > effect.instance:
        # Another one reports in its place: worth a remark, and no reason to stop anything.
        note_remarks(draft, effect, Judgement(verdict=Verdict.MATCH, reason="", concerns=(reason,)))
        return
    draft.move_effect(
        effect,
        EffectState.CONTRADICTED,
        EventKind.EFFECT_CONTRADICTED,
        reason,
        details={"record_id": accepted.record_id},
    )
    draft.send_to_review(f"{effect.operation} was confirmed, and now: {reason}")
