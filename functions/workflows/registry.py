"""Every released workflow version. Adding one is one import and one entry."""

from collections.abc import Mapping

from ledger.errors import RequestRefused
from ledger.retired import retired_definition
from ledger.run import RunLedger
from ledger.workflow import WorkflowDefinition
from workflows.cancel_refund.v4.contract import DEFINITION as CANCEL_REFUND_4

REGISTRY: Mapping[str, WorkflowDefinition] = {
    definition.version: definition for definition in (CANCEL_REFUND_4,)
}


def definition_for(ledger: RunLedger) -> WorkflowDefinition:
    """Return the definition of a run that is on record, whether or not its version still is."""
    return REGISTRY.get(ledger.run.workflow) or retired_definition(ledger)


def definition_of(version: str) -> WorkflowDefinition:
    """Return the released version. Raises RequestRefused when there is none."""
    definition = REGISTRY.get(version)
    if definition is None:
        raise RequestRefused(
            "unknown-workflow",
            f"There is no such workflow. Released: {', '.join(sorted(REGISTRY))}.",
        )
    return definition
