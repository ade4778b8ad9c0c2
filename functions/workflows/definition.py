"""The definition of the one version that this function was deployed for."""

from functools import cache
from importlib import import_module

from ledger.errors import InvariantBroken
from ledger.workflow import WorkflowDefinition
from runtime.settings import Settings


@cache
def deployed_definition() -> WorkflowDefinition:
    """Return the definition in the deployed slice.

    The registry is not read: a function holds its own version's slice and no other.
    """
    package = Settings.from_environment().workflow_slice
    if package is None:
        raise InvariantBroken("WORKFLOW_SLICE is not set; this function belongs to no version.")
    definition = import_module(f"{package}.contract").DEFINITION
    if not isinstance(definition, WorkflowDefinition):
        raise InvariantBroken(f"{package}.contract has no DEFINITION.")
    return definition
