"""What a person's yes is bound to besides the payload: what its writes do, whatever words say so.

The tables below are the rule itself. A field that is in none of them fails a test until somebody
has decided what a change of it means.
"""

from collections.abc import Mapping
from enum import StrEnum

from ledger.approval import Approval
from ledger.canonical import digest
from ledger.run import RunLedger
from ledger.transitions import EffectState
from ledger.workflow import Operation, WorkflowDefinition


class Part(StrEnum):
    """What a change of one field of a definition means for a run that is under way."""

    CONSEQUENCE = "consequence"  # something else is done: a new decision is asked for
    PROOF = "proof"  # it is proven otherwise: a migration checks what is on record against it
    TEXT = "text"  # words, wiring and time limits: nobody is disturbed


OPERATION_PARTS: Mapping[str, Part] = {
    "name": Part.CONSEQUENCE,
    "label": Part.TEXT,
    "provider": Part.CONSEQUENCE,
    "checkpoint": Part.PROOF,
    "request_fields": Part.CONSEQUENCE,
    "fixed": Part.CONSEQUENCE,
    "evidence_fields": Part.CONSEQUENCE,
    "requires": Part.PROOF,
    "needs_approval": Part.CONSEQUENCE,
    "moves_money": Part.CONSEQUENCE,
    "compensates": Part.CONSEQUENCE,
}
STAGE_PARTS: Mapping[str, Part] = {
    "name": Part.TEXT,
    "checkpoint": Part.PROOF,
    "timeout_seconds": Part.TEXT,
    "operation": Part.CONSEQUENCE,
    "providers": Part.TEXT,
    "rings_doorbell": Part.TEXT,
}
CONTRACT_PARTS: Mapping[str, Part] = {
    "checkpoint": Part.PROOF,
    "claim": Part.TEXT,
    "owner": Part.PROOF,
    "evidence_fields": Part.PROOF,
}
DEFINITION_PARTS: Mapping[str, Part] = {
    # Another workflow is no version of this one: no migration leads there.
    "name": Part.PROOF,
    "number": Part.TEXT,
    "summary": Part.TEXT,
    # What was asked is on record with the run, and has to be a request of the version that goes on.
    "request_type": Part.PROOF,
    "stages": Part.CONSEQUENCE,
    "operations": Part.CONSEQUENCE,
    "contracts": Part.PROOF,
    "approval_lifetime_seconds": Part.TEXT,
    "progress_deadline_seconds": Part.TEXT,
    "max_executions": Part.TEXT,
    "retired": Part.TEXT,
}

_BOUND = frozenset(name for name, part in OPERATION_PARTS.items() if part is Part.CONSEQUENCE)


def consequence_of(operation: Operation) -> str:
    """Return a digest of what the write does. The order in which its fields are listed is none."""
    fields = operation.model_dump(include=set(_BOUND))
    fields["request_fields"] = sorted(fields["request_fields"])
    fields["evidence_fields"] = sorted(fields["evidence_fields"])
    if operation.compensates is None:  # as the field's absence, in older releases
        del fields["compensates"]
    else:
        fields["compensates"] = operation.compensates.operation
    return digest(fields)


def consequences_of(definition: WorkflowDefinition) -> dict[str, str]:
    """Return the consequence of each write that a person has to approve, by operation."""
    return {found.name: consequence_of(found) for found in definition.approved_operations}


def what_changed(definition: WorkflowDefinition, ledger: RunLedger, approval: Approval) -> str:
    """Return how ``definition`` differs from what was approved; empty when it does the same.

    Compared are the writes that are still to be made: what is done is no longer to be decided.
    """
    asked, now = _asked(definition, approval), _now(definition, approval)
    if asked is None:
        return (
            f"it was given for another workflow version ({approval.workflow}) before what that "
            "does was kept with it"
        )
    differs = sorted(
        name
        for name in {*asked, *now} - confirmed_operations(ledger)
        if asked.get(name) != now.get(name)
    )
    if not differs:
        return ""
    return f"what would be done differs from what was approved: {', '.join(differs)}"


def _now(definition: WorkflowDefinition, approval: Approval) -> dict[str, str]:
    """Return the consequences that the approval is compared with, by operation."""
    if approval.compensates is None:
        return consequences_of(definition)
    # Asked by itself, about nothing else.
    counters = {found.name: consequence_of(found) for found in definition.counter_operations}
    return {name: now for name, now in counters.items() if name in approval.payload}


def confirmed_operations(ledger: RunLedger) -> set[str]:
    """Return the names of the operations that are proven to be done."""
    return {found.operation for found in ledger.effects if found.state is EffectState.CONFIRMED}


def _asked(definition: WorkflowDefinition, approval: Approval) -> Mapping[str, str | None] | None:
    """Return the consequences that were approved, None when they are not on record.

    An approval that was stored before they were kept names the version that asked. Released
    versions are frozen, so they are what that version says now.
    """
    if approval.consequences:
        return approval.consequences
    if approval.workflow != definition.version:
        return None
    now = _now(definition, approval)
    return {name: now.get(name) for name in approval.payload}
