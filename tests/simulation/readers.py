"""The three readers of a run say the same, and no more than the ledger holds."""

from operator import itemgetter
from typing import TYPE_CHECKING

from ledger.approval import ApprovalState
from ledger.checkpoint import Checkpoint
from ledger.effect import ATTESTED, Effect
from ledger.packet import ResumePacket, resume_packet
from ledger.projection import RunFacts, project
from ledger.run import RunLedger
from ledger.status import CustomerStatus, customer_status
from ledger.store import Change
from ledger.transitions import EffectState, RunState
from tests.simulation import actors
from workflows.cancel_refund.v4.contract import DEFINITION

if TYPE_CHECKING:
    from tests.simulation.check import Check

_seen: set[tuple[object, ...]] = set()
"""Situations in which the readers were found to agree: what they say depends on nothing else."""
MAX_SEEN = 200_000
_NAME = itemgetter(0)


def forget_situations() -> None:
    """Look at every situation anew, for a reader that was changed."""
    _seen.clear()


class Situation:
    """Everything that the readers' words about one run depend on, kept up with its changes."""

    def __init__(self) -> None:
        """Start before the run was opened."""
        self._head: tuple[object, ...] = ()
        self._records: dict[str, tuple[object, ...]] = {}

    def takes(self, change: Change) -> bool:
        """Take a change in. Return whether it changed anything that a reader may be told."""
        before, count = self._head, len(self._records)
        changed = [
            *((found.effect_id, _of_effect(found)) for found in change.effects),
            *((found.approval_id, (found.state,)) for found in change.approvals),
            *((found.name, _of_checkpoint(found)) for found in change.checkpoints),
        ]
        other = any(self._records.get(name) != part for name, part in changed)
        self._records.update(changed)
        run = change.run
        self._head = (
            run.state,
            run.review_reason,
            run.review_recovers,
            run.request["amount_minor"],
            run.engineering,
        )
        return other or self._head != before or len(self._records) != count

    def key(self) -> tuple[object, ...]:
        """Return it as something to be found again by."""
        return self._head, *sorted(self._records.items(), key=_NAME)


def check_readers(check: "Check", ledger: RunLedger, change: Change) -> None:
    """Raise Violation unless customer, operator and model are told the same."""
    situation = check.situations[ledger.run.run_id]
    if not situation.takes(change):
        return
    key = situation.key()
    if key in _seen:
        return
    now_ms = check.world.scheduler.now_ms
    facts = project(DEFINITION, ledger, now_ms)
    status = customer_status(facts)
    packet = resume_packet(facts, "please send it twice")
    _check_run(check, ledger, facts, status, packet)
    for effect in ledger.effects:
        _check_effect(check, ledger, effect, facts, status, packet)
    _check_actions(check, ledger, now_ms)
    if len(_seen) < MAX_SEEN:
        _seen.add(key)


def _of_effect(effect: Effect) -> tuple[object, ...]:
    return (
        effect.state,
        effect.evidence.record_id if effect.evidence else None,
        effect.overdue,
        effect.superseded,
        effect.approval_id,
        effect.bound.get("refund_id"),
    )


def _of_checkpoint(checkpoint: Checkpoint) -> tuple[object, ...]:
    return checkpoint.evidence.record_id, checkpoint.effect_id


def _check_run(
    check: "Check",
    ledger: RunLedger,
    facts: RunFacts,
    status: CustomerStatus,
    packet: ResumePacket,
) -> None:
    state = ledger.run.state
    same = state is facts.state is status.status is packet.state
    check.require("readers", "the state of the run", holds=same)
    version = facts.view_version == packet.view_version == ledger.run.sequence
    check.require("readers", "the version of the view", holds=version)
    holds = {
        found.name
        for found in ledger.checkpoints
        if found.effect_id is None
        or (
            (effect := ledger.require_effect(found.effect_id)).state is EffectState.CONFIRMED
            and not _is_outdated(ledger, effect)
        )
    }
    check.require("readers", "what is proven", holds=set(facts.proven) == holds)
    claims = tuple(
        DEFINITION.contract(name).claim
        for name in facts.proven
        if _may_be_told(check, ledger, name)
    )
    check.require("readers", "what is claimed", holds=status.proven == claims)
    last: str | None = None
    for stage in DEFINITION.stages:
        if stage.checkpoint not in holds:
            break
        last = stage.checkpoint
    check.require("readers", "the resume point", holds=packet.last_verified_checkpoint == last)
    pending = [found for found in ledger.approvals if found.state is ApprovalState.PENDING]
    if state is RunState.AWAITING_APPROVAL:
        shown = status.approval
        asked = shown is not None and shown.approval_id in {x.approval_id for x in pending}
        check.require("readers", "nothing is asked", holds=asked)
    else:
        check.require("readers", "a question too many", holds=status.approval is None)
    done = "completed" in status.message
    check.require("readers", "completed", holds=done == (state is RunState.COMPLETED))
    confirmed = [
        found
        for found in ledger.effects
        if _is_proven(check, found) and not _is_outdated(ledger, found)
    ]
    said = packet.summary.count(" is confirmed") == len(confirmed)
    check.require("readers", packet.summary, holds=said)
    why = ledger.run.review_reason if state is RunState.REVIEW else ""
    reason = facts.review_reason == why
    check.require("readers", "the reason for the review", holds=reason)


def _may_be_told(check: "Check", ledger: RunLedger, checkpoint: str) -> bool:
    """Return whether a claim is no person's word, and no yes that is asked for anew."""
    proof = next(found for found in ledger.checkpoints if found.name == checkpoint)
    if checkpoint == "request_approved":
        newest = max(ledger.approvals, key=lambda found: found.requested_at_ms)
        return newest.state is ApprovalState.APPROVED
    return proof.effect_id not in check.attested


def _is_outdated(ledger: RunLedger, effect: Effect) -> bool:
    """Return whether this is the receipt of a refund in whose place there is another now."""
    if effect.operation != "receipt" or effect.state is not EffectState.CONFIRMED:
        return False
    if any(
        found.operation == "receipt" and found.instance > effect.instance
        for found in ledger.effects
    ):
        return True  # another one reports in its place, whatever has become of its refund since
    proven = [
        found.evidence.record_id
        for found in ledger.effects
        if found.operation == "refund"
        and found.state is EffectState.CONFIRMED
        and found.evidence is not None
    ]
    return bool(proven) and effect.bound["refund_id"] not in proven


def _is_proven(check: "Check", effect: Effect) -> bool:
    """Return whether the provider has shown it; a person's word is told as such."""
    return effect.state is EffectState.CONFIRMED and effect.effect_id not in check.attested


def _check_effect(
    check: "Check",
    ledger: RunLedger,
    effect: Effect,
    facts: RunFacts,
    status: CustomerStatus,
    packet: ResumePacket,
) -> None:
    confirmed = _is_proven(check, effect)
    operators = {found.effect_id: found for found in facts.effects}[effect.effect_id]
    check.require("readers", "an effect", holds=operators.state is effect.state)
    shown = [found.effect_id for found in facts.effects if not found.over]
    if effect.effect_id not in shown:
        refused = effect.state is EffectState.REJECTED
        ended = effect.superseded or refused or _is_outdated(ledger, effect)
        check.require("readers", f"{effect.state} is not shown", holds=ended)
        return
    place = shown.index(effect.effect_id)
    told, fact = status.effects[place], packet.effects[place]
    same = operators.state is effect.state is fact.state
    check.require("readers", "the state of an effect", holds=same)
    check.require("readers", "a promise", holds=(told.status == "confirmed") == confirmed)
    record_id = effect.evidence.record_id if effect.evidence else None
    proven = told.record_id == (record_id if confirmed else None)
    check.require("readers", "an unproven record", holds=proven)
    of_provider = None if record_id == ATTESTED else record_id
    same = operators.record_id == record_id and fact.record_id == of_provider
    check.require("readers", "the record", holds=same)
    label = DEFINITION.operation(effect.operation).label
    named = f"{label} {record_id}".lower() in packet.summary.lower()
    check.require("readers", f"{label}: {packet.summary}", holds=named == confirmed)


def _check_actions(check: "Check", ledger: RunLedger, now_ms: int) -> None:
    """Every open run goes on by itself or by a person; every refusal says why."""
    found = actors.current_offers(ledger, now_ms)
    allowed = [offer.action for offer in found if offer.allowed]
    if ledger.run.state is RunState.REVIEW:
        check.require("way", "no action is allowed", holds=allowed)
    explained = all(offer.allowed or offer.refused_because for offer in found)
    check.require("readers", "a refusal without a reason", holds=explained)
    closed = not ledger.run.is_open
    check.require("readers", f"{allowed} on a closed run", holds=not (closed and allowed))
