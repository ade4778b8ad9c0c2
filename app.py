"""The CDK app: what ``cdk synth`` and ``cdk deploy`` run. It asks no account and no network."""

import os
import sys
from pathlib import Path

from aws_cdk import App, Validations
from cdk_nag import AwsSolutionsChecks

sys.path.insert(0, str(Path(__file__).parent / "functions"))  # the functions' own import root

from providers.contracts import CONTRACTS
from stacks.deployment import Deployment
from stacks.service import add_service
from workflows.registry import REGISTRY


def main() -> None:
    """Write the cloud assembly to the place that the CDK command line names."""
    app = App()
    add_service(app, Deployment.from_context(app.node), REGISTRY.values(), CONTRACTS)
    if os.environ.get("CDK_VALIDATION") != "false":
        Validations.of(app).add_plugins(AwsSolutionsChecks(app))
    app.synth()


if __name__ == "__main__":
    main()
