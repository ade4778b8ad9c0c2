"""Every stack of one deployment, derived from the registered workflow versions."""

from collections.abc import Iterable, Mapping

from constructs import Construct

from ledger.contract import ProviderContract
from ledger.workflow import WorkflowDefinition
from stacks.api import ApiStack
from stacks.deployment import Deployment
from stacks.ledger import LedgerStack
from stacks.mail import MailStack
from stacks.recovery import RecoveryStack
from stacks.sandbox_runtime import run_in_sandbox
from stacks.workflows import WorkflowStack


def add_service(
    scope: Construct,
    deployment: Deployment,
    definitions: Iterable[WorkflowDefinition],
    contracts: Mapping[str, ProviderContract],
) -> None:
    """Add the ledger, mail, a stack per version in ``definitions``, recovery and the API."""
    table = LedgerStack(scope, f"{deployment.name}-ledger").table
    mail = MailStack(scope, f"{deployment.name}-mail", deployment=deployment)
    for definition in definitions:
        workflow = WorkflowStack(
            scope,
            deployment.state_machine_name(definition.name, definition.number),
            deployment=deployment,
            definition=definition,
            contracts=contracts,
            table=table,
        )
        # A mail with a set that does not exist yet would be refused. By name and not by reference:
        # an export would tie the stacks of released versions to this one.
        workflow.add_stack_dependency(mail)
    RecoveryStack(
        scope,
        f"{deployment.name}-recovery",
        deployment=deployment,
        contracts=contracts,
        table=table,
    )
    ApiStack(
        scope,
        f"{deployment.name}-api",
        deployment=deployment,
        contracts=contracts,
        table=table,
    )
    if deployment.sandbox:
        run_in_sandbox(scope)
