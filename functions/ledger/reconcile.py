"""Find out from the provider what happened to an unsettled effect. Writes nothing outside.

The order is fixed: query by our mark, compare, confirm on a match, stop on a conflict, and allow a
further attempt only when absence is proven and the provider's contract permits a replay.
"""

from enum import StrEnum
from typing import NamedTuple

from ledger.attempt import AttemptOutcome
from ledger.compare import Judgement, Verdict, judge, of_run
from ledger.contract import LookUp, ProviderContract
from ledger.draft import Draft
from ledger.due import read_wait_seconds
from ledger.effect import Effect
from ledger.event import Actor, EventKind
from ledger.pace import held_back_seconds
from ledger.ports import Ports
from ledger.provider import Findings, ProviderCall, ProviderFault
from ledger.record import Record
from ledger.remarks import note_remarks
from ledger.run import RunLedger
from ledger.settle import (
    end_recovered_review,
    lapsed,
    reach_what_stands,
    settle_conflict,
    settle_found,
    with_outcome,
)
from ledger.short import short_text
from ledger.transitions import EffectState, RunState
from ledger.update import load, update

# A state machine's longest wait. A refund that stays unfinished for two weeks is read some 370
# times, which keeps the execution's history far below its limit of 25,000 events.
MAX_WAIT_SECONDS = 3600


# Verdicts that rest on a record with our mark.
OURS = frozenset({Verdict.MATCH, Verdict.PENDING, Verdict.FAILED})


class Standing(StrEnum):
    """Where a run stands after its unsettled effects were looked up."""

    SETTLED = "settled"
    WAIT = "wait"
    REVIEW = "review"


class Outcome(Record):
    """What reconciling a run came to, and how long to wait before reading again."""

    standing: Standing
    wait_seconds: int = 0


class _Read(NamedTuple):
    """One look-up: what it found, and between which two moments."""

    found: Judgement | ProviderFault
    began_at_ms: int
    ended_at_ms: int


def reconcile_run(ports: Ports, run_id: str, actor: Actor) -> Outcome:
    """Return where the run stands after every unsettled effect was looked up once.

    Raises LedgerMoved or LedgerUnavailable; reading again later is always safe.
    """
    for effect in load(ports, run_id).unsettled_effects():
        reconcile_effect(ports, run_id, effect.effect_id, actor)
    return outcome_of(load(ports, run_id), ports)


def outcome_of(ledger: RunLedger, ports: Ports) -> Outcome:
    """Return the outcome as the ledger shows it."""
    if ledger.run.state is RunState.REVIEW:
        return Outcome(standing=Standing.REVIEW)
    now_ms = ports.clock.now_ms()
    waits = [
        _wait_seconds(effect, ports.providers[effect.provider].contract, now_ms)
        for effect in ledger.unsettled_effects()
    ]
    if waits:
        return _wait(max(waits))
    # What is given time is not unsettled. Its stage would only be told to wait, every half minute,
    # until the history of the execution is full.
    pause_seconds = held_back_seconds(ledger, now_ms)
    return _wait(pause_seconds) if pause_seconds else Outcome(standing=Standing.SETTLED)


def _wait(seconds: int) -> Outcome:
    return Outcome(standing=Standing.WAIT, wait_seconds=min(max(1, seconds), MAX_WAIT_SECONDS))


def reconcile_effect(ports: Ports, run_id: str, effect_id: str, actor: Actor) -> None:
    """Look one effect up and write down what was found."""
    ledger = load(ports, run_id)
    seen = ledger.effect(effect_id)
    if seen is None or not seen.unsettled:
        return
    # A read shows nothing about the time after it began, and nothing later than its end, however
    # late its result is written down.
    began_at_ms = ports.clock.now_ms()
    try:
        contract = ports.providers[seen.provider].contract
        found = _look_up(ports, contract, ledger, seen)
    except Exception as error:
        _note_broken(ports, run_id, seen, actor, error)
        raise
    read = _Read(found, began_at_ms, ended_at_ms=ports.clock.now_ms())

    def decide(draft: Draft) -> None:
        effect = draft.ledger.effect(effect_id)
        if effect is None or not effect.unsettled:
            return  # settled by somebody else while we read
        if isinstance(found, Judgement) and found.verdict in OURS:
            _apply_found(draft, effect, found)
        elif effect == seen and not effect.claim_is_live(read.began_at_ms):
            # Anything else is only about the effect as it was when the read began, and while a
            # call may still be running it is about nothing.
            _apply_not_ours(draft, contract, lapsed(draft, effect), read)

    update(ports, run_id, actor, decide)


def _note_broken(ports: Ports, run_id: str, seen: Effect, actor: Actor, error: Exception) -> None:
    """Count a read that broke: a bug, or a provider that is no longer wired.

    Without a note it would be tried at every tick for ever, and nobody would be told.
    """

    def decide(draft: Draft) -> None:
        effect = draft.ledger.effect(seen.effect_id)
        if effect == seen and not effect.claim_is_live(draft.now_ms):
            reason = f"the read broke: {type(error).__name__}"
            kind = EventKind.RECONCILE_READ_FAILED
            _put_read(draft, lapsed(draft, effect), kind, reason)

    update(ports, run_id, actor, decide)


def _look_up(
    ports: Ports, contract: ProviderContract, ledger: RunLedger, effect: Effect
) -> Judgement | ProviderFault:
    if contract.look_up is LookUp.NONE:
        return _judge_late_results(effect)
    call = ProviderCall(
        run_id=ledger.run.run_id,
        effect_id=effect.effect_id,
        idempotency_key=effect.idempotency_key,
        bound=effect.bound,
        params=effect.request.stored_params(),
    )
    try:
        findings = ports.providers[effect.provider].look_up(call)
    except ProviderFault as fault:
        return fault
    return judge(effect, of_run(ledger, findings))


def _judge_late_results(effect: Effect) -> Judgement:
    """Judge a provider that cannot be asked by what workers or its event feed told us."""
    # Of one record the newest word counts.
    told = {late.record.record_id: late.record for late in effect.late_results}
    judgement = judge(effect, Findings(records=tuple(told.values()), complete=False))
    if judgement.verdict is not Verdict.INCOMPLETE:
        return judgement
    return judgement.model_copy(update={"reason": "nobody can be asked whether it was done"})


def _apply_found(draft: Draft, effect: Effect, judgement: Judgement) -> None:
    """Apply what a record of ours shows: it is true whatever else has happened meanwhile."""
    if effect.state is EffectState.ACCEPTED and judgement.verdict is Verdict.PENDING:
        _note_read(draft, effect, judgement.reason)
    else:
        note_remarks(draft, settle_found(draft, lapsed(draft, effect), judgement), judgement)


def _apply_not_ours(draft: Draft, contract: ProviderContract, effect: Effect, read: _Read) -> None:
    found = read.found
    if isinstance(found, ProviderFault):
        reason = f"the provider could not be read: {short_text(str(found))}"
        _put_read(draft, effect, EventKind.RECONCILE_READ_FAILED, reason)
    elif found.verdict is Verdict.CONFLICT:
        settle_conflict(draft, effect, found)
    elif found.verdict is Verdict.INCOMPLETE or not contract.absence_can_be_proven:
        _note_read(draft, effect, found.reason)
    elif effect.state is EffectState.ACCEPTED:
        _apply_vanished(draft, contract, effect, read)
    else:
        _count_absence(draft, contract, effect, read)


def _apply_vanished(draft: Draft, contract: ProviderContract, effect: Effect, read: _Read) -> None:
    accepted_at_ms = effect.unsettled_since_ms or 0
    if read.began_at_ms - accepted_at_ms < contract.settle_window_seconds * 1000:
        _note_read(draft, effect, "the accepted record does not show yet")
        return
    reason = "the provider accepted a record and no longer shows it"
    settle_conflict(draft, effect, Judgement(verdict=Verdict.CONFLICT, reason=reason))


def _count_absence(draft: Draft, contract: ProviderContract, effect: Effect, read: _Read) -> None:
    reads = effect.absence_reads_at_ms
    if effect.late_results or effect.evidence is not None:
        reason = "a record that was seen before is no longer shown by the provider"
        settle_conflict(draft, effect, Judgement(verdict=Verdict.CONFLICT, reason=reason))
        return
    if reads and read.began_at_ms - reads[-1] < contract.settle_window_seconds * 1000:
        return  # too soon after the end of the last read to count as another
    reads = (*reads, read.ended_at_ms)
    if len(reads) < contract.absence_reads:
        counted = effect.model_copy(update={"absence_reads_at_ms": reads})
        _put_read(draft, counted, EventKind.ABSENCE_READ, "a complete read shows no record of ours")
        return
    if not contract.replay_after_absence:
        reason = "absent, and the provider's contract allows no replay"
        settle_conflict(draft, effect, Judgement(verdict=Verdict.CONFLICT, reason=reason))
        return
    reason = (
        f"{len(reads)} complete reads, {contract.settle_window_seconds} s apart, show no record"
    )
    moved = draft.move_effect(
        with_outcome(effect, AttemptOutcome.ABSENT, effect.attempts[-1].fault),
        EffectState.PLANNED,
        EventKind.ABSENCE_PROVEN,
        reason,
        unsettled_since_ms=None,
        overdue=False,
        absence_reads_at_ms=reads,
    )
    reach_what_stands(draft, moved)
    end_recovered_review(draft, reason)


def _note_read(draft: Draft, effect: Effect, reason: str) -> None:
    _put_read(draft, effect, EventKind.RECONCILE_READ, reason)


def _put_read(draft: Draft, effect: Effect, kind: EventKind, reason: str) -> None:
    """Count a read that settled nothing, and tell somebody once its deadline has passed.

    The state does not change: age proves nothing. That a key is about to lapse is told as well,
    once for each key and whatever was told before, while sending the same request again would
    still be harmless.
    """
    overdue_at_ms = effect.overdue_at_ms()
    overdue = overdue_at_ms is not None and draft.now_ms >= overdue_at_ms
    lapses_at_ms = effect.key_notice_owed_at_ms()
    lapsing = lapses_at_ms is not None and draft.now_ms >= lapses_at_ms
    read = {"reconcile_reads": effect.reconcile_reads + 1, "overdue": overdue}
    if lapsing:
        read["key_notice_generation"] = effect.generation
    draft.put_effect(effect.model_copy(update=read))
    draft.note(kind, reason, subject=effect.effect_id, prior=effect.state, state=effect.state)
    if lapsing:
        _tell(draft, effect, EventKind.KEY_LAPSING, _key_words(effect, draft.now_ms), reason)
    elif overdue and not effect.overdue:
        _tell(draft, effect, EventKind.EFFECT_OVERDUE, "past its deadline", reason)


def _key_words(effect: Effect, now_ms: int) -> str:
    lapsed_already = now_ms >= (effect.key_protects_until_ms or 0)
    return f"and its key {'has lapsed' if lapsed_already else 'is about to lapse'}"


def _tell(draft: Draft, effect: Effect, kind: EventKind, words: str, reason: str) -> None:
    draft.note(
        kind,
        f"{effect.state} {words}",
        subject=effect.effect_id,
        prior=effect.state,
        state=effect.state,
    )
    if draft.ledger.run.is_open:  # nobody waits for the outcome of a run that was closed
        why = f"{effect.operation} is {effect.state} {words}: {reason}"
        draft.send_to_review(why, recovers=True)


def _wait_seconds(effect: Effect, contract: ProviderContract, now_ms: int) -> int:
    attempt = effect.last_attempt
    if attempt is not None and effect.claim_is_live(now_ms):
        return -(-(attempt.lease_until_ms - now_ms) // 1000)
    # A read of absence counts as another one only so much later. Where it was not made then, or
    # something else was found since, the pace is that of any other read.
    reads = effect.absence_reads_at_ms if effect.state is EffectState.UNKNOWN else ()
    spacing_ms = reads[-1] + contract.settle_window_seconds * 1000 - now_ms if reads else 0
    return -(-spacing_ms // 1000) if spacing_ms > 0 else read_wait_seconds(effect)
