"""The few properties that the embedded AWS of the sandbox needs otherwise."""

import platform

import jsii
from aws_cdk import Aspects, IAspect, RemovalPolicy
from aws_cdk.aws_cognito import CfnUserPool
from aws_cdk.aws_dynamodb import CfnTable
from aws_cdk.aws_lambda import CfnFunction
from aws_cdk.aws_s3 import CfnBucket
from constructs import IConstruct

ARM_MACHINES = ("aarch64", "arm64")


@jsii.implements(IAspect)
class SandboxRuntime:
    """Runs functions on this machine under Lambda's own runtime client, and keeps no data.

    The runtime client reports errors by class name, which is what state machines catch.
    """

    def visit(self, node: IConstruct) -> None:
        """Override the properties of ``node`` where it is a function or holds data."""
        if isinstance(node, CfnFunction):
            here = "arm64" if platform.machine() in ARM_MACHINES else "x86_64"
            node.add_property_override("Runtime", "provided.al2023")
            node.add_property_override("Architectures", [here])
        if isinstance(node, CfnTable):
            node.deletion_protection_enabled = False
            node.apply_removal_policy(RemovalPolicy.DESTROY)
        if isinstance(node, CfnBucket):
            node.apply_removal_policy(RemovalPolicy.DESTROY)
        if isinstance(node, CfnUserPool):
            node.deletion_protection = "INACTIVE"
            node.apply_removal_policy(RemovalPolicy.DESTROY)


def run_in_sandbox(scope: IConstruct) -> None:
    """Apply the sandbox's properties to everything below ``scope``."""
    Aspects.of(scope).add(SandboxRuntime())
