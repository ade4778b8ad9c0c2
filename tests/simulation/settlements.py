"""Claims and settlements, each against what really happened outside."""

from typing import TYPE_CHECKING

from ledger.approval import ApprovalState
from ledger.attempt import AttemptOutcome
from ledger.contract import FaultKind
from ledger.effect import Effect
from ledger.event import Event, EventKind
from ledger.provider import ProviderFault
from ledger.run import RunLedger
from ledger.store import Change
from ledger.transitions import EffectState
from providers.contracts import CONTRACTS
from tests.simulation.decisions import check_deeds, payload_digest
from tests.simulation.outside import is_mail

if TYPE_CHECKING:
    from tests.simulation.check import Check
    from tests.simulation.process import Process

DEFINITE_NO = frozenset({400, 401, 402, 403, 404})
# They come with one of these statuses and are no refusal: the one asks to compare, the other says
# that the key is known with another request.
NOT_A_NO = frozenset({"charge_already_refunded", "idempotency_error"})
UNRESOLVED = frozenset({AttemptOutcome.RUNNING, AttemptOutcome.UNKNOWN, AttemptOutcome.ABSENT})


def check_claim(
    check: "Check", process: "Process", before: RunLedger, after: RunLedger, event: Event
) -> None:
    """A claim needs a valid approval, proven requirements, a living key and nobody inside."""
    effect = after.require_effect(event.subject)
    attempt = effect.attempts[-1]
    definition = check.world.deploys.known[before.run.workflow]
    operation = definition.operation(effect.operation)
    if operation.needs_approval:
        _check_grant(check, before, after, effect, event.at_ms)
        check_deeds(check, before, operation)
    _check_counter(check, process, before, effect)
    unproven = [name for name in operation.requires if _proven(before, name) is None]
    check.require("claim", f"{unproven} is not proven", holds=not unproven)
    others = [found for found in effect.attempts[:-1] if found.outcome is AttemptOutcome.RUNNING]
    check.require("claim", "an attempt is still open", holds=not others)
    earlier = check.claimed.get(effect.effect_id)
    if earlier is not None:
        _check_key(check, earlier, effect, event.at_ms)
    process.claims[effect.effect_id] = attempt.attempt_id
    process.claimed[effect.effect_id] = effect
    process.words.pop(effect.effect_id, None)
    check.claimed[effect.effect_id] = effect
    check.lease_ends_ms[effect.effect_id] = attempt.lease_until_ms - process.skew_ms


def _proven(ledger: RunLedger, name: str) -> object:
    """Return what proves a claim now: its effect has to be confirmed still, and to stand."""
    found = next((found for found in ledger.checkpoints if found.name == name), None)
    if found is None or found.withdrawn:
        return None
    if found.effect_id is None:
        return found
    holds = ledger.require_effect(found.effect_id).state is EffectState.CONFIRMED
    return found if holds and not taken_back(ledger, found.effect_id) else None


def _check_counter(check: "Check", process: "Process", before: RunLedger, effect: Effect) -> None:
    """An effect is taken back once, on a yes to that alone, by nobody's execution."""
    done = [found for found in before.effects if taken_back(before, found.effect_id)]
    check.require("counter", "a write in a run whose work was taken back", holds=not done)
    about = effect.compensates
    if about is None:
        return
    sweeps = process.kind == "sweeper"
    check.require("counter", f"made by a {process.kind}", holds=sweeps)
    offered = about in check.counters_offered
    check.require("counter", "nobody has offered it", holds=offered)
    state = before.require_effect(about).state
    check.require("counter", f"of what is {state}", holds=state is EffectState.CONFIRMED)
    others = [found for found in before.unsettled_effects() if found.effect_id != effect.effect_id]
    check.require("counter", "while another effect is unsettled", holds=not others)
    newest = max(before.approvals, key=lambda found: found.requested_at_ms)
    alone = newest.compensates == about and set(newest.payload) == {effect.operation}
    check.require("counter", "without a yes to that alone", holds=alone)


def _check_grant(
    check: "Check", before: RunLedger, after: RunLedger, effect: Effect, now_ms: int
) -> None:
    granted = [
        found
        for found in before.approvals
        if found.state is ApprovalState.APPROVED and effect.operation in found.payload
    ]
    check.require("approval", "nothing was approved", holds=granted)
    newest = max(granted, key=lambda found: found.requested_at_ms)
    check.require("approval", "expired", holds=now_ms < newest.expires_at_ms)
    same = newest.payload[effect.operation] == effect.bound
    check.require("approval", "for something else", holds=same)
    shown = payload_digest(newest)
    check.require("approval", "its digest is another", holds=newest.digest == shown)
    by = (newest.requested_at_ms, newest.approval_id)
    later = [found for found in before.approvals if (found.requested_at_ms, found.approval_id) > by]
    check.require("approval", "a newer one was asked for", holds=not later)
    spent = after.approval(newest.approval_id)
    on = spent.spent_on.get(effect.operation) if spent else None
    check.require("approval", f"spent on {on}", holds=on == effect.effect_id)
    used = newest.spent_on.get(effect.operation, effect.effect_id)
    check.require("approval", "spent twice", holds=used == effect.effect_id)


def _check_key(check: "Check", earlier: Effect, effect: Effect, now_ms: int) -> None:
    """The key stays the same as long as it protects, and not a moment longer."""
    until_ms = earlier.key_protects_until_ms
    if until_ms is None:
        return
    contract = CONTRACTS[effect.provider]
    lapsed = now_ms + contract.call_timeout_seconds * 1000 >= until_ms
    same = effect.idempotency_key == earlier.idempotency_key
    check.require("key", "a new key while the old one protects", holds=same or lapsed)
    check.require("key", "a key that protects nothing any more", holds=not (same and lapsed))


def check_settled(
    check: "Check",
    process: "Process",
    before: RunLedger | None,
    after: RunLedger,
    event: Event,
    change: Change,
) -> None:
    """What an effect is said to be, its provider has said."""
    if before is None or not event.state:
        return
    effect = after.require_effect(event.subject)
    _check_holder(check, process, before, effect, event, change)
    match event.kind:
        case EventKind.EFFECT_CONFIRMED:
            _check_confirmed(check, process, effect, change)
        case EventKind.EFFECT_CONTRADICTED if is_mail(effect):
            check.told.check_taken_back(process, effect)
        case EventKind.EFFECT_CONTRADICTED:
            answered = effect.effect_id in process.words
            looked = effect.provider in process.looked_up
            check.require("contradicted", "nobody has looked", holds=looked or answered)
        case EventKind.EFFECT_REJECTED:
            _check_rejected(check, process, effect)
        case EventKind.EFFECT_NOT_REACHED:
            word = process.words.get(effect.effect_id)
            told = word is None or (
                isinstance(word, ProviderFault)
                and (word.kind is FaultKind.NEVER_SENT or word.status == 429)
            )
            check.require("unknown", "nobody said that it was not reached", holds=told)
        case EventKind.ABSENCE_PROVEN:
            _check_absent(check, effect)
        case _ if (event.prior_state, event.state) == (EffectState.UNKNOWN, EffectState.PLANNED):
            check.fail("unknown", f"{event.kind} lets it be tried again")


def _check_holder(
    check: "Check",
    process: "Process",
    before: RunLedger,
    effect: Effect,
    event: Event,
    change: Change,
) -> None:
    """A worker settles the attempt that it has claimed and still holds, and no other."""
    attempt_id = process.claims.get(effect.effect_id)
    late = any(found.kind is EventKind.LATE_RESULT_RECORDED for found in change.events)
    if attempt_id is None or late or event.prior_state == event.state:
        return
    newest = before.require_effect(effect.effect_id).attempts[-1].attempt_id
    check.require("claim", "settled by a worker without it", holds=newest == attempt_id)
    word = process.words.get(effect.effect_id)
    if isinstance(word, ProviderFault) and word.code == "idempotency_error":
        kept = effect.state is EffectState.CONFLICT
        check.require("key", "a key conflict that did not stop for review", holds=kept)


def _check_confirmed(check: "Check", process: "Process", effect: Effect, change: Change) -> None:
    outside, evidence = check.world.outside, effect.evidence
    assert evidence is not None
    mail = is_mail(effect)
    if any(found.kind is EventKind.OPERATOR_ACTED for found in change.events):
        check.require("confirmed", "a person's word about a look-up", holds=mail)
        check.attested.add(effect.effect_id)
        return
    # From now on it is the provider's word, and no longer a person's.
    check.attested.discard(effect.effect_id)
    record_id = evidence.record_id
    if mail:
        ours = any(
            found.message_id == record_id and found.mark == effect.effect_id
            for found in outside.mails
        )
        read = record_id in check.told.mails
    else:
        ours = outside.is_ours(effect, record_id)
        read = outside.name_of(effect, record_id) in process.shown_done
    check.require("confirmed", f"{record_id} is not ours", holds=ours)
    check.require("confirmed", f"{record_id} was not read back", holds=read)
    differs = [n for n, wanted in effect.bound.items() if evidence.fields.get(n) != wanted]
    check.require("confirmed", f"differs in {differs}", holds=not differs)
    outside.check_read_back(check, process, effect)


def _check_rejected(check: "Check", process: "Process", effect: Effect) -> None:
    outside = check.world.outside
    word = process.words.get(effect.effect_id)
    refused = (
        isinstance(word, ProviderFault)
        and word.kind is FaultKind.ANSWERED
        and word.status in DEFINITE_NO
        and word.code not in NOT_A_NO
    )
    evidence = effect.evidence
    shown = evidence and outside.name_of(effect, evidence.record_id) in outside.shown_failed
    failed = bool(shown)
    check.require("unknown", "nobody refused it", holds=refused or failed)
    if not failed:
        unresolved = [found for found in effect.attempts[:-1] if found.outcome in UNRESOLVED]
        check.require("unknown", "an earlier attempt is in doubt", holds=not unresolved)
    lives = outside.lives(effect)
    check.require("unknown", "called refused, and it exists", holds=not lives)


def _check_absent(check: "Check", effect: Effect) -> None:
    """Two complete reads, apart by the settle window, begun after the claim had lapsed."""
    contract = CONTRACTS[effect.provider]
    check.require("absence", "of what cannot be read", holds=contract.absence_can_be_proven)
    tolerance_ms = 2 * check.world.max_skew_ms
    from_ms = check.lease_ends_ms[effect.effect_id] - tolerance_ms
    reads = [
        found
        for found in check.reads[effect.provider]
        if found.began_ms >= from_ms and effect.effect_id not in found.marks
    ]
    check.require("absence", "no two reads", holds=len(reads) >= 2)
    apart_ms = max(found.began_ms for found in reads) - min(found.answered_ms for found in reads)
    wanted_ms = contract.settle_window_seconds * 1000 - tolerance_ms
    check.require("absence", f"{apart_ms} ms apart", holds=apart_ms >= wanted_ms)


def check_completed(check: "Check", after: RunLedger) -> None:
    """A completed run has every checkpoint, and the outside shows what they claim."""
    stages = check.world.deploys.known[after.run.workflow].stages
    missing = [found.checkpoint for found in stages if _proven(after, found.checkpoint) is None]
    check.require("completed", f"without {missing}", holds=not missing)
    for effect in after.effects:
        if is_mail(effect) and effect.state is EffectState.CONFIRMED:
            mailed = check.world.outside.was_mailed(effect.effect_id)
            attested = effect.effect_id in check.attested
            check.require("completed", f"without {effect.operation}", holds=mailed or attested)


def taken_back(ledger: RunLedger, effect_id: str) -> bool:
    """Return whether a confirmed counter-effect has taken the effect back."""
    return any(
        found.compensates == effect_id and found.state is EffectState.CONFIRMED
        for found in ledger.effects
    )
