"""Decisions of customers and operators: what was shown, by whom, and what they were asked for."""

from typing import TYPE_CHECKING

from ledger.approval import Approval, ApprovalState
from ledger.authorise import bound_from_request
from ledger.canonical import digest
from ledger.event import Event
from ledger.offer import RecoveryAction, find_offer
from ledger.run import RunLedger
from ledger.transitions import EffectState
from ledger.workflow import Operation, WorkflowDefinition
from tests.simulation import actors

if TYPE_CHECKING:
    from tests.simulation.check import Check
    from tests.simulation.process import Process


def check_operator(check: "Check", process: "Process", before: RunLedger, event: Event) -> None:
    """An operator's action is one that was allowed, on the view it was chosen on."""
    run_id = before.run.run_id
    same = process.view_version == before.run.sequence
    check.require("operator", "acted on another view than was seen", holds=same)
    action = RecoveryAction(str(event.details["action"]))
    if action is RecoveryAction.RECONCILE:
        check.looked_again.add(run_id)
    about = str(event.details["effect_id"]) or None
    definition = process.acted_by
    assert definition is not None
    found = actors.current_offers(process, definition, before, event.at_ms)
    offer = find_offer(found, action, about)
    check.require("operator", f"{action} is not allowed", holds=offer and offer.allowed)
    if action is RecoveryAction.SEND_AGAIN:
        check.sends_wanted[run_id] += 1
    if action is RecoveryAction.OFFER_COUNTER and about is not None:
        check.counters_offered.add(about)


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
    shown = process.shown_digest == payload_digest(approval)
    check.require("approval", "something else was shown", holds=shown)
    definition = check.world.deploys.known[approval.workflow]
    same = all(
        approval.payload[name] == bound_from_request(definition.operation(name), before.run.request)
        for name in approval.payload
    )
    check.require("approval", "asked for something else", holds=same)


def payload_digest(approval: Approval) -> str:
    """Return the digest over everything that a person was asked."""
    return digest({"payload": approval.payload, "consequences": approval.consequences})


type Deed = tuple[object, ...]
"""What a write does, in comparable terms: everything but words, proof and order."""


def _deed(operation: Operation) -> Deed:
    return (
        operation.provider,
        frozenset(operation.request_fields),
        frozenset(operation.fixed.items()),
        frozenset(operation.evidence_fields),
        operation.needs_approval,
        operation.moves_money,
        operation.compensates and operation.compensates.operation,
    )


def _deeds(definition: WorkflowDefinition) -> dict[str, Deed]:
    return {found.name: _deed(found) for found in definition.approved_operations}


def _otherwise(asked: WorkflowDefinition, now: WorkflowDefinition, ledger: RunLedger) -> list[str]:
    """Return the writes still to be made that another version asked for in another way."""
    if asked is now:
        return []
    before, after = _deeds(asked), _deeds(now)
    done = {found.operation for found in ledger.effects if found.state is EffectState.CONFIRMED}
    return [name for name in {*before, *after} - done if before.get(name) != after.get(name)]


def check_deeds(check: "Check", ledger: RunLedger, operation: Operation) -> None:
    """A yes covers what is done now: the version that asked would have done the same."""
    newest = max(ledger.approvals, key=lambda found: found.requested_at_ms)
    now = check.world.deploys.known[ledger.run.workflow]
    asked = check.asked[newest.approval_id]
    if newest.compensates is None:
        otherwise = _otherwise(asked, now, ledger)
    else:
        same = _deed(asked.operation(operation.name)) == _deed(operation)
        otherwise = [] if same else [operation.name]
    check.require("approval", f"for another consequence: {otherwise}", holds=not otherwise)


def check_request(check: "Check", before: RunLedger, after: RunLedger, event: Event) -> None:
    """A person is asked for what would be done now, and anew only when that is another thing."""
    definition = check.world.deploys.known[before.run.workflow]
    asked = after.approval(event.subject) or max(
        after.approvals, key=lambda found: found.requested_at_ms
    )
    check.asked[asked.approval_id] = definition
    newest = max(before.approvals, key=lambda found: found.requested_at_ms, default=None)
    gone = any(
        found.compensates for found in before.effects if found.state is EffectState.CONFIRMED
    )
    check.require("counter", "asked in a run whose work was taken back", holds=not gone)
    by_itself = event.actor.kind == "execution"
    if newest is None or not by_itself or newest.compensates is not None:
        return
    good = newest.state in (ApprovalState.PENDING, ApprovalState.APPROVED)
    if not good or newest.expired(event.at_ms):
        return
    left = {
        found.name: bound_from_request(found, before.run.request)
        for found in definition.approved_operations
        if not any(
            effect.operation == found.name and effect.state is EffectState.CONFIRMED
            for effect in before.effects
        )
    }
    covered = all(newest.payload.get(name) == bound for name, bound in left.items())
    spent = any(
        (effect := before.effect(spent_on)) is not None and effect.state is EffectState.REJECTED
        for spent_on in newest.spent_on.values()
    )
    otherwise = _otherwise(check.asked[newest.approval_id], definition, before)
    why = not covered or spent or otherwise
    check.require("approval", "asked anew, and nothing has changed", holds=why)
