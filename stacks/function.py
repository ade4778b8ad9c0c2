"""The one way this app makes a Lambda function."""

from aws_cdk import Duration, RemovalPolicy, Stack
from aws_cdk.aws_iam import Role, ServicePrincipal
from aws_cdk.aws_lambda import (
    Architecture,
    Code,
    Function,
    ILayerVersion,
    LayerVersion,
    Runtime,
    Tracing,
)
from aws_cdk.aws_logs import LogGroup, RetentionDays
from constructs import Construct

from stacks.access import Access
from stacks.acknowledge import acknowledge
from stacks.deployment import Deployment

# A Standard execution's history is kept for 90 days after its end, and its logs as long.
LOG_RETENTION = RetentionDays.THREE_MONTHS
# Lambda gives processor time by memory: below this, importing the SDKs takes most of a cold start.
MEMORY_MIB = 512
LAYER_ID = "Dependencies"


class LedgerFunction(Function):
    """A function with its own role: it may write its log and trace, and do what ``access`` says.

    A run is followed by its id, which is in each line of the log with the trace's own.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        deployment: Deployment,
        code: Code,
        handler: str,
        timeout_seconds: int,
        access: Access,
    ) -> None:
        """Add the function, its role and its log group under ``scope``."""
        log_group = LogGroup(
            scope,
            f"{construct_id}Log",
            retention=LOG_RETENTION,
            # Nothing is proven by a log: evidence is in the ledger.
            removal_policy=RemovalPolicy.DESTROY,
        )
        role = Role(
            scope, f"{construct_id}Role", assumed_by=ServicePrincipal("lambda.amazonaws.com")
        )
        log_group.grant_write(role)
        for statement in access.statements:
            role.add_to_policy(statement)
        acknowledge(role, "IAM5[Resource::*]", "X-Ray offers no permission by resource.")
        for rule, reason in access.accepted:
            acknowledge(role, rule, reason)
        super().__init__(
            scope,
            construct_id,
            architecture=Architecture.ARM_64,
            code=code,
            environment={
                "POWERTOOLS_METRICS_NAMESPACE": deployment.name,
                "POWERTOOLS_SERVICE_NAME": handler.removesuffix(".handler"),
                **access.environment,
            },
            handler=handler,
            layers=_layers(Stack.of(scope), deployment),
            log_group=log_group,
            memory_size=MEMORY_MIB,
            role=role,
            runtime=Runtime.PYTHON_3_13,
            timeout=Duration.seconds(timeout_seconds),
            tracing=Tracing.ACTIVE,
        )
        acknowledge(self, "L1", "The runtime that the pinned requirements are tested with.")


def _layers(stack: Stack, deployment: Deployment) -> list[ILayerVersion]:
    """Return the stack's own version of the one layer.

    An export of a shared version could not change while a stack uses it, so each has its own.
    """
    if deployment.sandbox:
        return []
    found = stack.node.try_find_child(LAYER_ID)
    if isinstance(found, LayerVersion):
        return [found]
    layer = LayerVersion(
        stack,
        LAYER_ID,
        code=Code.from_asset(deployment.require_layer()),
        compatible_architectures=[Architecture.ARM_64],
        compatible_runtimes=[Runtime.PYTHON_3_13],
        description="The libraries of functions/requirements.txt",
    )
    return [layer]
