"""The three readers of a run say the same, and no more than the ledger holds."""

from collections.abc import Mapping
from operator import itemgetter
from typing import TYPE_CHECKING

from ledger.actions import offers
from ledger.approval import Approval, ApprovalState
from ledger.checkpoint import Checkpoint
from ledger.effect import ATTESTED, Effect
from ledger.packet import resume_packet
from ledger.projection import project
from ledger.record import Scalar
from ledger.run import RunLedger
from ledger.status import customer_status
from ledger.store import Change
from ledger.transitions import EffectState, RunState
from ledger.validity import has_ended, told_moment, valid_until_ms
from ledger.workflow import WorkflowDefinition
from providers.contracts import CONTRACTS
from tests.simulation.settlements import taken_back

if TYPE_CHECKING:
    from tests.simulation.check import Check

_seen: set[tuple[object, ...]] = set()
"""Situations in which the readers were found to agree. What else their words depend on is the time
at which a claim or a request runs out, which the seeds see that look every time."""
LOOKS_EVERY_TIME = 256  # one seed in so many: a look costs more than the step that it is about
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
        self._request: Mapping[str, Scalar] = {}
        self._wanted: tuple[tuple[str, Scalar], ...] = ()

    def takes(self, change: Change, definition: WorkflowDefinition | None, now_ms: int) -> bool:
        """Take a change in. Return whether it changed anything that a reader may be told."""
        before, count = self._head, len(self._records)
        changed = [
            *((found.effect_id, _of_effect(definition, found, now_ms)) for found in change.effects),
            *((found.approval_id, _of_approval(found, now_ms)) for found in change.approvals),
            *((found.name, _of_checkpoint(found)) for found in change.checkpoints),
        ]
        other = any(self._records.get(name) != part for name, part in changed)
        self._records.update(changed)
        run = change.run
        if run.request is not self._request:
            self._request = run.request
            self._wanted = tuple(sorted(run.request.items()))
        self._head = (
            id(definition),
            run.state,
            run.review_reason,
            run.review_recovers,
            self._wanted,
            run.engineering,
        )
        return other or self._head != before or len(self._records) != count

    def key(self) -> tuple[object, ...]:
        """Return it as something to be found again by."""
        return self._head, *sorted(self._records.items(), key=_NAME)


def check_readers(check: "Check", ledger: RunLedger, change: Change) -> None:
    """Raise Violation unless customer, operator and model are told the same."""
    deploys = check.world.deploys
    definition = deploys.definition_of(ledger)
    situation = check.situations[ledger.run.run_id]
    now_ms = check.world.scheduler.now_ms
    registered = ledger.run.workflow in deploys.versions.definitions
    changed = situation.takes(change, definition if registered else None, now_ms)
    every_time = check.world.seed % LOOKS_EVERY_TIME == 0
    if not changed and not every_time:
        return
    key = situation.key()
    if key in _seen and not every_time:
        return
    told = _Told(definition, ledger, now_ms)
    _check_run(check, told)
    for effect in ledger.effects:
        _check_effect(check, told, effect)
    _check_actions(check, told)
    if len(_seen) < MAX_SEEN:
        _seen.add(key)


class _Told:
    """What the three readers are told of a run."""

    def __init__(self, definition: WorkflowDefinition, ledger: RunLedger, now_ms: int) -> None:
        self.definition = definition
        self.ledger = ledger
        self.now_ms = now_ms
        self.facts = project(definition, ledger, now_ms)
        self.status = customer_status(self.facts)
        self.packet = resume_packet(self.facts, "please send it twice")


def _of_effect(
    definition: WorkflowDefinition | None, effect: Effect, now_ms: int
) -> tuple[object, ...]:
    quotes = _quotes(definition, effect)
    return (
        effect.state,
        effect.evidence.record_id if effect.evidence else None,
        effect.overdue,
        effect.superseded,
        effect.claim_is_live(now_ms),
        effect.approval_id,
        tuple(effect.bound.get(name) for name, _ in quotes),
        bool(quotes) and has_ended(effect.bound, now_ms),
    )


def _of_approval(approval: Approval, now_ms: int) -> tuple[object, ...]:
    return approval.state, approval.compensates, approval.withdrawn, approval.expired(now_ms)


def _of_checkpoint(checkpoint: Checkpoint) -> tuple[object, ...]:
    return checkpoint.evidence.record_id, checkpoint.effect_id, checkpoint.withdrawn


_quoted: dict[tuple[int, str], tuple[tuple[str, str], ...]] = {}
"""What ``_quotes`` has returned for a registered version, of which each is there for good."""


def _quotes(definition: WorkflowDefinition | None, effect: Effect) -> tuple[tuple[str, str], ...]:
    """Return the bound fields that name what another effect has proven, each with the claim."""
    if definition is None or definition.retired:
        return ()
    key = id(definition), effect.operation
    found = _quoted.get(key)
    if found is None:
        fields = definition.operation(effect.operation).evidence_fields
        found = tuple((name, claim) for name, claim, field in fields if field == "record_id")
        _quoted[key] = found
    return found


def _check_run(check: "Check", told: _Told) -> None:
    definition, ledger, facts = told.definition, told.ledger, told.facts
    status, packet = told.status, told.packet
    state = ledger.run.state
    same = state is facts.state is status.status is packet.state
    check.require("readers", "the state of the run", holds=same)
    version = facts.view_version == packet.view_version == ledger.run.sequence
    check.require("readers", "the version of the view", holds=version)
    holds = {found.name for found in ledger.checkpoints if _stands(definition, ledger, found)}
    holds &= {found.checkpoint for found in definition.stages}
    check.require("readers", "what is proven", holds=set(facts.proven) == holds)
    claims = tuple(
        definition.contract(name).claim
        for name in facts.proven
        if _may_be_told(check, definition, ledger, name)
    )
    check.require("readers", "what is claimed", holds=status.proven == claims)
    last: str | None = None
    for stage in definition.stages:
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
        if _is_proven(check, ledger, found) and not _is_outdated(definition, ledger, found)
    ]
    said = packet.summary.count(" is confirmed") == len(confirmed)
    check.require("readers", packet.summary, holds=said)
    why = ledger.run.review_reason if state is RunState.REVIEW else ""
    reason = facts.review_reason == why
    check.require("readers", "the reason for the review", holds=reason)


def _stands(definition: WorkflowDefinition, ledger: RunLedger, proof: Checkpoint) -> bool:
    """Return whether a checkpoint proves its claim now, for what is on record now."""
    if proof.withdrawn:
        return False
    if proof.effect_id is None:
        return True
    effect = ledger.require_effect(proof.effect_id)
    confirmed = effect.state is EffectState.CONFIRMED
    outdated = _is_outdated(definition, ledger, effect)
    if definition.retired and effect.approval_id is None:
        # What it quoted is not known any more; that there is a newer one is.
        outdated = _has_newer(ledger, effect)
    return confirmed and not outdated and not taken_back(ledger, effect.effect_id)


def _may_be_told(
    check: "Check", definition: WorkflowDefinition, ledger: RunLedger, checkpoint: str
) -> bool:
    """Return whether a claim is no person's word, and no yes that is asked for anew."""
    proof = next(found for found in ledger.checkpoints if found.name == checkpoint)
    if definition.contract(checkpoint).owner == "ledger":
        newest = max(ledger.approvals, key=lambda found: found.requested_at_ms)
        return newest.state is ApprovalState.APPROVED
    known = not _may_be_taken_back(ledger, proof.effect_id)
    return known and proof.effect_id not in check.attested


def _is_outdated(definition: WorkflowDefinition, ledger: RunLedger, effect: Effect) -> bool:
    """Return whether the effect tells of something in whose place there is another now."""
    quotes = _quotes(definition, effect)
    if not quotes or effect.state is not EffectState.CONFIRMED:
        return False
    if _has_newer(ledger, effect):
        return True  # another one reports in its place, whatever has become of what it told of
    for name, checkpoint in quotes:
        proven = [
            found.evidence.record_id
            for found in ledger.effects
            if found.checkpoint == checkpoint
            and found.state is EffectState.CONFIRMED
            and found.evidence is not None
        ]
        if proven and effect.bound[name] not in proven:
            return True
    return False


def _has_newer(ledger: RunLedger, effect: Effect) -> bool:
    return any(
        found.operation == effect.operation and found.instance > effect.instance
        for found in ledger.effects
    )


def _is_proven(check: "Check", ledger: RunLedger, effect: Effect) -> bool:
    """Return whether the provider has shown it, and it stands.

    A person's word is told as such, and so is what was taken back.
    """
    return (
        effect.state is EffectState.CONFIRMED
        and effect.effect_id not in check.attested
        and not taken_back(ledger, effect.effect_id)
        and not _may_be_taken_back(ledger, effect.effect_id)
    )


def _may_be_taken_back(ledger: RunLedger, effect_id: str | None) -> bool:
    """Return whether a counter-effect was begun of which nobody knows what became."""
    known = (EffectState.PLANNED, EffectState.REJECTED, EffectState.CONFIRMED)
    return effect_id is not None and any(
        found.compensates == effect_id and found.state not in known for found in ledger.effects
    )


def _check_effect(check: "Check", told: _Told, effect: Effect) -> None:
    definition, ledger, facts = told.definition, told.ledger, told.facts
    confirmed = _is_proven(check, ledger, effect)
    operators = {found.effect_id: found for found in facts.effects}[effect.effect_id]
    check.require("readers", "an effect", holds=operators.state is effect.state)
    shown = [found.effect_id for found in facts.effects if not found.over]
    if effect.effect_id not in shown:
        refused = effect.state is EffectState.REJECTED
        ended = effect.superseded or refused or _is_outdated(definition, ledger, effect)
        check.require("readers", f"{effect.state} is not shown", holds=ended)
        return
    place = shown.index(effect.effect_id)
    said, fact = told.status.effects[place], told.packet.effects[place]
    same = operators.state is effect.state is fact.state
    check.require("readers", "the state of an effect", holds=same)
    words, _, end = said.status.partition(";")
    check.require("readers", "a promise", holds=(words == "confirmed") == confirmed)
    until_ms = valid_until_ms(effect.bound)
    timed = until_ms is not None and effect.state is EffectState.CONFIRMED
    check.require("readers", "an end that nothing has", holds=bool(end) == timed)
    if until_ms is not None and timed:
        over = told.now_ms >= until_ms
        check.require("readers", f"over: {end}", holds=("ended on" in end) == over)
        check.require("readers", f"when: {end}", holds=told_moment(until_ms) in end)
    record_id = effect.evidence.record_id if effect.evidence else None
    stood = effect.state is EffectState.CONFIRMED and effect.effect_id not in check.attested
    proven = said.record_id == (record_id if stood else None)
    check.require("readers", "an unproven record", holds=proven)
    of_provider = None if record_id == ATTESTED else record_id
    same = operators.record_id == record_id and fact.record_id == of_provider
    check.require("readers", "the record", holds=same)
    label, summary = definition.operation(effect.operation).label, told.packet.summary
    named = f"{label} {record_id}".lower() in summary.lower()
    check.require("readers", f"{label}: {summary}", holds=named == stood)


def _check_actions(check: "Check", told: _Told) -> None:
    """Every open run goes on by itself or by a person; every refusal says why."""
    ledger = told.ledger
    found = offers(
        told.definition,
        ledger,
        CONTRACTS.__getitem__,
        told.now_ms,
        check.world.deploys.versions,
    )
    allowed = [offer.action for offer in found if offer.allowed]
    if ledger.run.state is RunState.REVIEW:
        check.require("way", "no action is allowed", holds=allowed)
    explained = all(offer.allowed or offer.refused_because for offer in found)
    check.require("readers", "a refusal without a reason", holds=explained)
    closed = not ledger.run.is_open
    check.require("readers", f"{allowed} on a closed run", holds=not (closed and allowed))
