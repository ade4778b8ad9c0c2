"""What differs between one deployment of the app and another, read from the CDK context."""

from dataclasses import dataclass
from pathlib import Path
from typing import Self

from aws_cdk import ArnFormat, Stack
from constructs import Node


@dataclass(frozen=True, kw_only=True)
class Deployment:
    """One deployment. ``name`` prefixes every stack and state machine of it."""

    name: str
    mail_from: str
    stripe_secret_id: str
    projects_bucket: str
    """The team's bucket that holds customers' projects. It is only read."""

    stripe_api_base: str | None = None
    sign_in_url: str | None = None
    """Where people sign in, when it is not the user pool's own pages."""

    site_url: str | None = None
    """Where people find the pages, when it is not the API's own address."""

    mail_configuration_set: str | None = None
    functions_path: str = "functions"
    layer_path: str = ".build/layer"
    sandbox: bool = False

    @classmethod
    def from_context(cls, node: Node) -> Self:
        """Return the deployment that ``cdk.json`` and ``--context`` describe. Raises ValueError."""

        def required(key: str) -> str:
            value = node.try_get_context(key)
            if not value:
                raise ValueError(f"Context value {key!r} is missing: see cdk.json")
            return str(value)

        return cls(
            name=required("deployment"),
            mail_from=required("mail_from"),
            stripe_secret_id=required("stripe_secret_id"),
            projects_bucket=required("projects_bucket"),
            stripe_api_base=node.try_get_context("stripe_api_base"),
            sign_in_url=node.try_get_context("sign_in_url"),
            site_url=node.try_get_context("site_url"),
            mail_configuration_set=node.try_get_context("mail_configuration_set"),
            functions_path=node.try_get_context("functions_path") or cls.functions_path,
            layer_path=node.try_get_context("layer_path") or cls.layer_path,
            sandbox=str(node.try_get_context("sandbox")).lower() == "true",
        )

    @property
    def configuration_set(self) -> str:
        """Return the SES configuration set that receipts are sent with: the named one, or ours."""
        return self.mail_configuration_set or f"{self.name}-receipts"

    @property
    def site_parameter(self) -> str:
        """Return the name of the parameter under which the API's stack keeps the pages' address."""
        return f"/{self.name}/site-url"

    def artifacts_bucket(self, stack: Stack) -> str:
        """Return the name of the bucket for archives: one for all accounts and regions of AWS."""
        return f"{self.name.lower()}-artifacts-{stack.account}-{stack.region}"

    def state_machine_name(self, workflow: str, number: int) -> str:
        """Return the name that a workflow version's executions are found under."""
        return f"{self.name}-{workflow}-v{number}"

    def state_machine_arn_prefix(self, stack: Stack) -> str:
        """Return what the ARN of every state machine of this deployment begins with."""
        return stack.format_arn(
            service="states",
            resource="stateMachine",
            resource_name=f"{self.name}-",
            arn_format=ArnFormat.COLON_RESOURCE_NAME,
        )

    def require_layer(self) -> str:
        """Return the built layer's folder. Raises FileNotFoundError, saying how to build it."""
        if not Path(self.layer_path, "python").is_dir():
            raise FileNotFoundError(
                f"The Lambda layer is not in {self.layer_path}: run 'make layer' first"
            )
        return self.layer_path
