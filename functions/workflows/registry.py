"""Every released workflow version. Adding one is one import and one entry."""

from collections.abc import Mapping

from ledger.errors import RequestRefused
from ledger.retired import retired_definition
from ledger.run import RunLedger
from ledger.workflow import WorkflowDefinition
from workflows.cancel_refund.v3.contract import DEFINITION as CANCEL_REFUND_3
from workflows.cancel_refund.v4.contract import DEFINITION as CANCEL_REFUND_4
from workflows.counters import with_counters
from workflows.project_export.v1.contract import DEFINITION as PROJECT_EXPORT_1

CURRENT: Mapping[str, WorkflowDefinition] = {
    definition.name: definition for definition in (CANCEL_REFUND_4, PROJECT_EXPORT_1)
}
"""What new runs are opened on. Moving an entry to ``OLDER`` and another one here switches them."""

OLDER: tuple[WorkflowDefinition, ...] = (CANCEL_REFUND_3,)
"""Deployed until their last run has ended, and opened no more."""

REGISTRY: Mapping[str, WorkflowDefinition] = {
    definition.version: definition for definition in (*CURRENT.values(), *OLDER)
}


KNOWN: Mapping[str, WorkflowDefinition] = {
    version: with_counters(definition) for version, definition in REGISTRY.items()
}
"""The versions as those see them who look after runs: with what may be offered besides."""


def definition_for(ledger: RunLedger) -> WorkflowDefinition:
    """Return the definition of a run that is on record, whether or not its version still is."""
    return KNOWN.get(ledger.run.workflow) or retired_definition(ledger)


def definition_to_open(workflow: str) -> WorkflowDefinition:
    """Return the version on which a new run of ``workflow`` is opened.

    ``workflow`` is a workflow's name, or one exact version for a caller who wants no other.

    Raises RequestRefused when there is none of that name, or when the version is superseded.
    """
    name, _, _ = workflow.partition("@")
    current = CURRENT.get(name)
    if current is not None and workflow in (current.name, current.version):
        return current
    if workflow in REGISTRY:
        raise RequestRefused(
            "superseded-version",
            f"{workflow} takes no new runs; nothing was started. "
            + (f"Name {name}, or {current.version}. " if current else "")
            + "Its open runs go on.",
        )
    raise RequestRefused(
        "unknown-workflow",
        f"There is no such workflow. New runs: {', '.join(sorted(CURRENT))}.",
    )
