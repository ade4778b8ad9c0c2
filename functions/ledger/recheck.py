"""Read again what was concluded before: a proof is only as fresh as the read that it rests on."""

from ledger.compare import Judgement, Verdict, judge, of_run, still_shows
from ledger.contract import LookUp
from ledger.draft import Draft
from ledger.due import read_wait_seconds
from ledger.effect import Effect
from ledger.errors import EffectUnknown, ProviderUnavailable, ReviewRequired
from ledger.event import Actor, EventKind
from ledger.ports import Ports
from ledger.provider import Findings, ProviderCall, ProviderFault
from ledger.remarks import note_remarks
from ledger.run import RunLedger
from ledger.settle import evidence_of, reopen_unknown
from ledger.transitions import EffectState
from ledger.update import update
from ledger.workflow import Operation

# With the waits between them, up to six hours each, they last some two days.
MAX_FAILED_RECHECKS = 30


def check_still_absent(ports: Ports, ledger: RunLedger, effect: Effect, actor: Actor) -> None:
    """Return when an effect that is to be tried again still has no record.

    The absence that allowed the replay was proven by reads that may be hours old; by now the
    provider may have forgotten the key, and the first write may have landed.

    Raises:
        EffectUnknown: a record shows after all; the effect is unknown again.
        ProviderUnavailable: it could not be read; nothing was sent.
    """
    if not any(found.was_ever_unknown for found in effect.attempts):
        return
    run_id = ledger.run.run_id
    findings = find(ports, run_id, effect)
    judgement = judge(effect, of_run(ledger, findings)) if findings else None
    if judgement is None or judgement.verdict is Verdict.ABSENT:
        return

    def decide(draft: Draft) -> None:
        if draft.ledger.effect(effect.effect_id) == effect:
            reopen_unknown(draft, effect, f"its absence was proven, and now: {judgement.reason}")

    update(ports, run_id, actor, decide)
    raise EffectUnknown(f"{effect.operation} may exist after all; read first.")


def check_evidence_holds(
    ports: Ports, operation: Operation, ledger: RunLedger, actor: Actor
) -> None:
    """Return when every record that ``operation`` quotes or rests on is still what it was.

    Raises ReviewRequired when one is not, ProviderUnavailable when one could not be read.
    """
    for effect in ledger.effects:
        rests_on_it = effect.checkpoint in operation.rests_on
        if not rests_on_it or effect.state is not EffectState.CONFIRMED:
            continue
        if not recheck_confirmed(ports, ledger.run.run_id, effect, actor):
            raise ReviewRequired(f"{effect.operation} is no longer as it was confirmed.")


def recheck_confirmed(
    ports: Ports, run_id: str, effect: Effect, actor: Actor, *, scheduled: bool = False
) -> bool:
    """Return whether the owner still shows the record of a confirmed effect as it was proven.

    Where it does not, the effect is contradicted and the run in review. ``scheduled`` counts the
    read as one of those that follow a confirmation.

    Raises ProviderUnavailable when it could not be read; nothing is concluded then.
    """
    try:
        findings = find(ports, run_id, effect)
    except ProviderUnavailable:
        raise
    except Exception as error:
        if scheduled:
            # A bug, or a provider that is no longer wired: it must not fail at every tick for ever.
            reason = f"the read broke: {type(error).__name__}"
            note_unreadable(ports, run_id, effect, actor, reason)
        raise
    if findings is None:
        return True
    judgement = still_shows(effect, findings)
    holds = judgement.verdict in (Verdict.MATCH, Verdict.INCOMPLETE)
    if scheduled and judgement.verdict is Verdict.INCOMPLETE:
        raise ProviderUnavailable(f"{effect.provider}: {judgement.reason}.")

    def decide(draft: Draft) -> None:
        if _has_changed(draft.ledger, effect):
            return
        if not holds:
            _contradict(draft, effect, judgement)
            return
        seen = note_remarks(draft, effect, judgement)
        if scheduled:
            _count(draft, seen)

    update(ports, run_id, actor, decide)
    return holds


def _has_changed(ledger: RunLedger, effect: Effect) -> bool:
    """Return whether what was read is about something else by now.

    What was taken back while we read, or may have been, is contradicted by nothing that was read.
    """
    taken_back = ledger.is_undone(effect.effect_id) or ledger.may_be_undone(effect.effect_id)
    return taken_back or ledger.effect(effect.effect_id) != effect


def _contradict(draft: Draft, effect: Effect, judgement: Judgement) -> None:
    draft.move_effect(
        effect,
        EffectState.CONTRADICTED,
        EventKind.EFFECT_CONTRADICTED,
        judgement.reason,
        candidates=tuple(
            evidence_of(effect, found, draft.now_ms)
            for found in judgement.candidates or filter(None, (judgement.record,))
        ),
    )
    draft.send_to_review(f"{effect.operation} was confirmed, and now: {judgement.reason}")


def _count(draft: Draft, effect: Effect) -> None:
    made = {"rechecks_made": effect.rechecks_made + 1, "reconcile_reads": 0}
    draft.put_effect(effect.model_copy(update=made))
    draft.note(
        EventKind.RECHECKED,
        "its owner still shows it as it was confirmed",
        subject=effect.effect_id,
        prior=effect.state,
        state=effect.state,
    )


def note_unreadable(ports: Ports, run_id: str, effect: Effect, actor: Actor, reason: str) -> None:
    """Note a read that could not be made, so that the next one waits longer.

    A scheduled one that could not be made for days is given up for the one after it, with a remark.
    """

    def decide(draft: Draft) -> None:
        if draft.ledger.effect(effect.effect_id) != effect:
            return
        failed = effect.reconcile_reads + 1
        if effect.recheck_at_ms() is None or failed < MAX_FAILED_RECHECKS:
            tried = effect.model_copy(update={"reconcile_reads": failed})
            wait_ms = read_wait_seconds(tried) * 1000
            later = {"recheck_not_before_ms": draft.now_ms + wait_ms}
            draft.put_effect(tried.model_copy(update=later))
            kind = EventKind.RECONCILE_READ_FAILED
        else:
            missed = note_remarks(draft, effect, _not_seen_again())
            made = {"reconcile_reads": 0, "rechecks_made": effect.rechecks_made + 1}
            draft.put_effect(missed.model_copy(update=made))
            kind = EventKind.RECHECK_MISSED
        draft.note(kind, reason, subject=effect.effect_id, prior=effect.state, state=effect.state)

    update(ports, run_id, actor, decide)


def _not_seen_again() -> Judgement:
    words = "a scheduled read could not be made for days: whether it still stands was not seen"
    return Judgement(verdict=Verdict.INCOMPLETE, reason=words, concerns=(words,))


def find(ports: Ports, run_id: str, effect: Effect) -> Findings | None:
    """Return what the provider shows now at the effect's target, None when it cannot be asked.

    Raises ProviderUnavailable.
    """
    provider = ports.providers[effect.provider]
    if provider.contract.look_up is LookUp.NONE:
        return None
    call = ProviderCall(
        run_id=run_id,
        effect_id=effect.effect_id,
        idempotency_key=effect.idempotency_key,
        bound=effect.bound,
        params=effect.request.stored_params(),
    )
    try:
        return provider.look_up(call)
    except ProviderFault as fault:
        raise ProviderUnavailable(
            f"{effect.provider} could not be read again ({fault}); nothing was sent."
        ) from fault
