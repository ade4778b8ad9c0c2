"""What may be offered when a later write is refused for good: counter-effects, by version.

They stand beside the definitions and not in them. A released version is frozen, and the runs that
need one are open on it already. And a counter-effect is no step of its state machine, so nothing
that was released changes by it.
"""

from collections.abc import Mapping

from ledger.checkpoint import CompletionContract
from ledger.record import Record
from ledger.workflow import Compensation, Operation, WorkflowDefinition


class Counter(Record):
    """A counter-effect, and what proves it."""

    operation: Operation
    contract: CompletionContract


# Ending the renewal changes one flag of the subscription until the period ends, so switching it on
# again leaves the customer with what they had. A refund has no counter: money that was paid back is
# not taken again.
RESUME_RENEWAL = Counter(
    operation=Operation(
        name="resume_renewal",
        label="Renewal switched on again",
        provider="stripe_billing",
        checkpoint="renewal_resumed",
        request_fields=("customer_id", "subscription_id"),
        fixed={"cancel_at": "never"},
        requires=("renewal_cancelled",),
        compensates=Compensation(operation="cancel_renewal", offer="switch the renewal on again"),
    ),
    contract=CompletionContract(
        checkpoint="renewal_resumed",
        claim="The billing system shows that the renewal is on again.",
        owner="stripe_billing",
        evidence_fields=("customer_id", "subscription_id", "cancel_at"),
    ),
)

# Version 3 ends the renewal last: nothing that could be refused for good follows but a mail.
COUNTERS: Mapping[str, tuple[Counter, ...]] = {"cancel-refund@4": (RESUME_RENEWAL,)}


def with_counters(definition: WorkflowDefinition) -> WorkflowDefinition:
    """Return the definition with what may be offered. Raises ValueError when that is wrong."""
    found = COUNTERS.get(definition.version, ())
    if not found:
        return definition
    return WorkflowDefinition.model_validate(
        {
            **dict(definition),
            "operations": (*definition.operations, *(one.operation for one in found)),
            "contracts": (*definition.contracts, *(one.contract for one in found)),
        }
    )
