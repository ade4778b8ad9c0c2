"""Every stack of one deployment, derived from the registered workflow versions."""

from collections.abc import Iterable, Mapping

from constructs import Construct

from ledger.contract import Need, ProviderContract
from ledger.workflow import WorkflowDefinition
from stacks.api import ApiStack
from stacks.artifacts import ArtifactsStack
from stacks.audit import AuditStack
from stacks.deployment import Deployment
from stacks.ledger import LedgerStack
from stacks.mail import MailStack
from stacks.monitoring import MonitoringStack
from stacks.recovery import RecoveryStack
from stacks.sandbox_runtime import run_in_sandbox
from stacks.workflows import WorkflowStack


def add_service(
    scope: Construct,
    deployment: Deployment,
    definitions: Iterable[WorkflowDefinition],
    contracts: Mapping[str, ProviderContract],
) -> None:
    """Add every stack, one for each version in ``definitions`` among them."""
    table = LedgerStack(scope, f"{deployment.name}-ledger").table
    mail = MailStack(scope, f"{deployment.name}-mail", deployment=deployment)
    artifacts = ArtifactsStack(scope, f"{deployment.name}-artifacts", deployment=deployment)
    api = ApiStack(
        scope,
        f"{deployment.name}-api",
        deployment=deployment,
        contracts=contracts,
        table=table,
    )
    for definition in definitions:
        workflow = WorkflowStack(
            scope,
            deployment.state_machine_name(definition.name, definition.number),
            deployment=deployment,
            definition=definition,
            contracts=contracts,
            table=table,
        )
        # A mail with a set that does not exist yet would be refused, and so an archive. By name and
        # not by reference: an export would tie the stacks of released versions to these two.
        workflow.add_stack_dependency(mail)
        workflow.add_stack_dependency(artifacts)
        if _leads_to_pages(definition, contracts):
            workflow.add_stack_dependency(api)
    recovery = RecoveryStack(
        scope,
        f"{deployment.name}-recovery",
        deployment=deployment,
        contracts=contracts,
        table=table,
    )
    AuditStack(
        scope,
        f"{deployment.name}-audit",
        deployment=deployment,
        contracts=contracts,
        table=table,
    )
    MonitoringStack(
        scope,
        f"{deployment.name}-monitoring",
        deployment=deployment,
        table=table,
        nominations=recovery.nominations,
        dead_letters=recovery.dead_letters,
    )
    if deployment.sandbox:
        run_in_sandbox(scope)


def _leads_to_pages(
    definition: WorkflowDefinition, contracts: Mapping[str, ProviderContract]
) -> bool:
    """Return whether a function of the version has to know where the pages are."""
    called = {name for stage in definition.stages for name in stage.providers}
    return any(Need.SITE in contracts[name].needs for name in called)
