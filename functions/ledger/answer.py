"""What the answer to one call means: settle it, or keep it as a late result."""

from ledger.attempt import Attempt, AttemptOutcome
from ledger.compare import Judgement, Verdict, judge
from ledger.contract import ErrorClass, ProviderContract
from ledger.draft import Draft
from ledger.effect import Effect, LateResult
from ledger.event import EventKind
from ledger.provider import Findings, ProviderFault, ProviderRecord
from ledger.remarks import note_remarks
from ledger.settle import (
    end_recovered_review,
    is_attested,
    prove_attested,
    reopen_unknown,
    settle_accepted,
    settle_confirmed,
    settle_conflict,
    settle_found,
    settle_not_reached,
    settle_rejected,
    settle_unknown,
    with_outcome,
)
from ledger.short import short_record, short_text
from ledger.transitions import EffectState

# Each of these leaves the effect unknown, and so read before anything is sent again. What the
# provider said is kept apart: a key in use and a record that exists are no lost answers.
UNKNOWN_WORDS = {
    ErrorClass.SAME_KEY_AGAIN: "the key is in use by another request, which may still be running",
    ErrorClass.COMPARE: "the provider says that it exists already, not whose it is",
}
NO_PROOF_WORDS = "no answer that proves anything"


def settle_record(
    draft: Draft,
    contract: ProviderContract,
    effect: Effect,
    record: ProviderRecord,
    judgement: Judgement | None,
) -> None:
    """Settle a call that returned a record; ``judgement`` is what the read-back said of it."""
    accepted = settle_accepted(draft, effect, record, "the provider answered with its record")
    if not contract.confirmed_by_read:
        own = judge(accepted, Findings(records=(record,), complete=True))
        if own.verdict is Verdict.MATCH:
            settle_confirmed(draft, accepted, record, "acceptance is the provider's last word")
        else:
            settle_conflict(draft, accepted, own)
    elif judgement is not None and judgement.verdict not in (Verdict.ABSENT, Verdict.INCOMPLETE):
        note_remarks(draft, settle_found(draft, accepted, judgement), judgement)


def settle_fault(
    draft: Draft,
    contract: ProviderContract,
    effect: Effect,
    fault: ProviderFault,
    judgement: Judgement | None = None,
) -> None:
    """Settle a call that returned no record, by the provider's own error table.

    ``judgement`` is what a read after a refusal showed: a record of ours weighs more than the
    refusal, and the records of others may explain it.
    """
    error_class = contract.classify(fault.kind, fault.status, fault.code)
    words = short_text(str(fault))
    earlier_unknown = _earlier_unknown(effect)
    if error_class is ErrorClass.KEY_CONFLICT:
        judgement = Judgement(
            verdict=Verdict.CONFLICT,
            reason="the provider knows this key with another request; no other key was tried",
        )
        settle_conflict(draft, with_outcome(effect, AttemptOutcome.REFUSED, words), judgement)
    elif (
        error_class is ErrorClass.REFUSED
        and not earlier_unknown
        and not _shows_ours(effect, judgement)
    ):
        in_the_way = judgement.others if judgement else ()
        settle_rejected(draft, effect, f"the provider refused: {words}", words, in_the_way)
    elif error_class is ErrorClass.NOT_REACHED and not earlier_unknown:
        settle_not_reached(draft, effect, words)
    else:
        said = UNKNOWN_WORDS.get(error_class, NO_PROOF_WORDS)
        settle_unknown(draft, effect, f"{said} ({error_class}): {words}", words)


def _shows_ours(effect: Effect, judgement: Judgement | None) -> bool:
    """Return whether the read found our mark, on one record or on several."""
    found = judgement.candidates if judgement else ()
    record = judgement.record if judgement else None
    return record is not None or any(one.mark == effect.effect_id for one in found)


def _earlier_unknown(effect: Effect) -> bool:
    """Return whether a refusal of the newest attempt leaves an older one in doubt.

    A refusal speaks only for its own attempt: an earlier one may have been carried out.
    """
    return any(found.was_ever_unknown for found in effect.attempts[:-1])


def keep_late_result(
    draft: Draft, effect: Effect, attempt: Attempt, record: ProviderRecord
) -> None:
    """Keep what a worker learned after its claim was gone, so that reconcile can use it."""
    record = short_record(record)
    known_ids = {late.record.record_id for late in effect.late_results}
    if effect.evidence is not None:
        known_ids.add(effect.evidence.record_id)
    if record.record_id in known_ids:
        return
    late = LateResult(attempt_id=attempt.attempt_id, record=record, learned_at_ms=draft.now_ms)
    effect = effect.model_copy(update={"late_results": (*effect.late_results, late)})
    draft.put_effect(effect)
    draft.note(
        EventKind.LATE_RESULT_RECORDED,
        "a worker without a claim learned of a record",
        subject=effect.effect_id,
        prior=effect.state,
        state=effect.state,
        details={"record_id": record.record_id, "attempt_id": attempt.attempt_id},
    )
    if effect.state in (EffectState.PLANNED, EffectState.REJECTED):
        reopen_after_all(draft, effect)
    elif effect.state is EffectState.CONFIRMED:
        _compare_with_proof(draft, effect, record)
    elif not draft.ledger.run.is_open:
        draft.send_to_review(f"{effect.operation}: an answer came after the run had ended")


def _compare_with_proof(draft: Draft, effect: Effect, record: ProviderRecord) -> None:
    """Judge a record that was learned of after the effect was confirmed."""
    judgement = judge(effect, Findings(records=(record,), complete=True))
    if is_attested(effect) and judgement.verdict is Verdict.MATCH:
        prove_attested(draft, effect, record, "what an operator took as sent is now proven")
        return
    draft.move_effect(
        effect,
        EffectState.CONTRADICTED,
        EventKind.EFFECT_CONTRADICTED,
        "a second record for one effect",
    )
    draft.send_to_review(f"{effect.operation}: the provider holds a second record")


def reopen_after_all(draft: Draft, effect: Effect) -> None:
    """Make an effect unknown again: absence was proven, or it was refused, and yet it exists."""
    reopen_unknown(draft, effect, f"a record appeared after the effect was {effect.state}")


def use_late_fault(
    draft: Draft,
    contract: ProviderContract,
    effect: Effect,
    attempt: Attempt,
    fault: ProviderFault,
) -> None:
    """Let a worker that was given up say that its request never reached the provider.

    That is proof about the one attempt that was in doubt; any other fault proves nothing now.
    """
    error_class = contract.classify(fault.kind, fault.status, fault.code)
    if (
        error_class is not ErrorClass.NOT_REACHED
        or effect.attempts[-1].attempt_id != attempt.attempt_id
        or _earlier_unknown(effect)
    ):
        return
    words = short_text(str(fault))
    if effect.state in (EffectState.ATTEMPTING, EffectState.UNKNOWN):
        settle_not_reached(draft, effect, words)
        end_recovered_review(draft, words)
    elif effect.state is EffectState.CONFIRMED and is_attested(effect):
        draft.move_effect(
            effect,
            EffectState.CONTRADICTED,
            EventKind.EFFECT_CONTRADICTED,
            f"an operator took it as sent, and it never was: {words}",
        )
        draft.send_to_review(f"{effect.operation} was taken as sent, and it never was")
