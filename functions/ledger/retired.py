"""The definition of a version that is no longer deployed, as far as one run's ledger shows it.

A run outlives the code of its version when somebody removes that too early. It can then still be
seen, looked up and closed; what would go on by that version's rules is refused.
"""

from pydantic import ConfigDict

from ledger.checkpoint import CompletionContract
from ledger.record import Record
from ledger.run import RunLedger
from ledger.workflow import Operation, Stage, WorkflowDefinition


class _UnknownRequest(Record):
    """A request whose shape is no longer known."""

    model_config = ConfigDict(extra="allow")

    customer_id: str


def retired_definition(ledger: RunLedger) -> WorkflowDefinition:
    """Return a definition with the operations of which the run holds effects, in their order."""
    name, _, number = ledger.run.workflow.rpartition("@")
    first = {
        effect.operation: effect
        for effect in sorted(
            ledger.effects, key=lambda found: found.key_first_used_at_ms or 0, reverse=True
        )
    }
    effects = sorted(first.values(), key=lambda found: found.key_first_used_at_ms or 0)
    return WorkflowDefinition(
        name=name or "unknown",
        number=int(number) if number.isdecimal() and int(number) else 1,
        summary="A version that is no longer deployed.",
        request_type=_UnknownRequest,
        stages=tuple(
            Stage(
                name=effect.operation,
                checkpoint=effect.checkpoint,
                timeout_seconds=1,
                operation=effect.operation,
                providers=(effect.provider,),
            )
            for effect in effects
        ),
        operations=tuple(
            Operation(
                name=effect.operation,
                label=effect.operation.replace("_", " ").capitalize(),
                provider=effect.provider,
                checkpoint=effect.checkpoint,
                request_fields=(),
                # What is not known to be harmless is told as if it were not.
                moves_money="amount_minor" in effect.bound and effect.approval_id is not None,
            )
            for effect in effects
        ),
        contracts=tuple(
            CompletionContract(
                checkpoint=effect.checkpoint,
                claim=f"{effect.checkpoint.replace('_', ' ').capitalize()}.",
                owner=effect.provider,
                evidence_fields=(),
            )
            for effect in effects
        ),
        approval_lifetime_seconds=1,
        progress_deadline_seconds=ledger.run.progress_deadline_seconds,
        max_executions=ledger.run.max_executions,
        retired=True,
    )
