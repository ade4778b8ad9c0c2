"""Claims, settlements and decisions, each against what really happened outside."""

from typing import TYPE_CHECKING

from ledger.approval import Approval, ApprovalState
from ledger.attempt import AttemptOutcome
from ledger.authorise import approval_payload
from ledger.canonical import digest
from ledger.contract import FaultKind, LookUp
from ledger.effect import Effect
from ledger.event import Event, EventKind
from ledger.offer import RecoveryAction, find_offer
from ledger.provider import ProviderFault
from ledger.run import RunLedger
from ledger.store import Change
from ledger.transitions import EffectState
from providers.contracts import CONTRACTS
from tests.simulation import actors
from workflows.cancel_refund.v4.contract import DEFINITION

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
    operation = DEFINITION.operation(effect.operation)
    if operation.needs_approval:
        _check_grant(check, before, after, effect, event.at_ms)
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
    """Return what proves a claim now: its effect has to be confirmed still."""
    found = next((found for found in ledger.checkpoints if found.name == name), None)
    if found is None or found.effect_id is None:
        return found
    return found if ledger.require_effect(found.effect_id).state is EffectState.CONFIRMED else None


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
    shown = _payload_digest(newest)
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
        case EventKind.EFFECT_CONTRADICTED if effect.operation == "receipt":
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
    bank, evidence = check.world.bank, effect.evidence
    assert evidence is not None
    if any(found.kind is EventKind.OPERATOR_ACTED for found in change.events):
        mail = CONTRACTS[effect.provider].look_up is LookUp.NONE
        check.require("confirmed", "a person's word about a look-up", holds=mail)
        check.attested.add(effect.effect_id)
        return
    # From now on it is the provider's word, and no longer a person's.
    check.attested.discard(effect.effect_id)
    record_id = evidence.record_id
    match effect.operation:
        case "refund":
            marks = {found.record_id: found.mark for found in bank.refunds}
            ours = marks.get(record_id) == effect.effect_id
            read = record_id in process.shown_done
        case "cancel_renewal":
            renewal = bank.renewals[str(effect.bound["subscription_id"])]
            ours = renewal.metadata.get("effect_id") == effect.effect_id
            read = record_id in process.shown_done
        case _:
            ours = any(
                found.message_id == record_id and found.mark == effect.effect_id
                for found in bank.mails
            )
            read = record_id in check.told.mails
    check.require("confirmed", f"{record_id} is not ours", holds=ours)
    check.require("confirmed", f"{record_id} was not read back", holds=read)
    differs = [n for n, wanted in effect.bound.items() if evidence.fields.get(n) != wanted]
    check.require("confirmed", f"differs in {differs}", holds=not differs)


def _check_rejected(check: "Check", process: "Process", effect: Effect) -> None:
    bank = check.world.bank
    word = process.words.get(effect.effect_id)
    refused = (
        isinstance(word, ProviderFault)
        and word.kind is FaultKind.ANSWERED
        and word.status in DEFINITE_NO
        and word.code not in NOT_A_NO
    )
    evidence = effect.evidence
    failed = evidence is not None and evidence.record_id in bank.shown_failed
    check.require("unknown", "nobody refused it", holds=refused or failed)
    if not failed:
        unresolved = [found for found in effect.attempts[:-1] if found.outcome in UNRESOLVED]
        check.require("unknown", "an earlier attempt is in doubt", holds=not unresolved)
    live = [found for found in bank.refunds if found.mark == effect.effect_id and found.is_live]
    check.require("unknown", "called refused, and it exists", holds=not live)


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


def check_operator(check: "Check", process: "Process", before: RunLedger, event: Event) -> None:
    """An operator's action is one that was allowed, on the view it was chosen on."""
    same = process.view_version == before.run.sequence
    check.require("operator", "acted on another view than was seen", holds=same)
    action = RecoveryAction(str(event.details["action"]))
    run_id = before.run.run_id
    if action is RecoveryAction.RECONCILE:
        check.looked_again.add(run_id)
    about = str(event.details["effect_id"]) or None
    offer = find_offer(actors.current_offers(before, event.at_ms), action, about)
    check.require("operator", f"{action} is not allowed", holds=offer and offer.allowed)
    if action is RecoveryAction.SEND_AGAIN:
        check.sends_wanted[run_id] += 1


def check_decision(
    check: "Check", process: "Process", before: RunLedger, after: RunLedger, event: Event
) -> None:
    """A decision is about what was shown, in time, on a request that was open."""
    decided = [
        found
        for found in after.approvals
        if found != before.approval(found.approval_id) and found.state is not ApprovalState.PENDING
    ]
    check.require("approval", "several decisions at once", holds=len(decided) == 1)
    approval = decided[0]
    asked = before.approval(approval.approval_id)
    pending = asked is not None and asked.state is ApprovalState.PENDING
    check.require("approval", "decided twice", holds=pending)
    check.require("approval", "too late", holds=event.at_ms < approval.expires_at_ms)
    shown = process.shown_digest == _payload_digest(approval)
    check.require("approval", "something else was shown", holds=shown)
    wanted = approval_payload(DEFINITION, before)
    same = all(
        approval.payload[name] == wanted.get(name, approval.payload[name])
        for name in approval.payload
    )
    check.require("approval", "asked for something else", holds=same)


def _payload_digest(approval: Approval) -> str:
    return digest({"workflow": approval.workflow, "payload": approval.payload})


def check_completed(check: "Check", after: RunLedger) -> None:
    """A completed run has every checkpoint, and the outside shows what they claim."""
    missing = [
        found.checkpoint for found in DEFINITION.stages if _proven(after, found.checkpoint) is None
    ]
    check.require("completed", f"without {missing}", holds=not missing)
    for effect in after.effects:
        if effect.operation == "receipt" and effect.state is EffectState.CONFIRMED:
            mailed = any(found.mark == effect.effect_id for found in check.world.bank.mails)
            attested = effect.effect_id in check.attested
            check.require("completed", "without a receipt", holds=mailed or attested)
