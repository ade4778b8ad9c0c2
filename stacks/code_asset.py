"""Which part of ``functions/`` a function carries.

One import root, filtered by an allow list: a version's functions hold the shared modules and their
own slice, so their code hash is the same whatever other versions exist beside them.
"""

from aws_cdk import IgnoreMode
from aws_cdk.aws_lambda import Code

from ledger.workflow import WorkflowDefinition
from stacks.deployment import Deployment

SHARED_PACKAGES = ("adapters", "ledger", "providers", "runtime")
NEVER = ("__pycache__", "*.pyc")


def slice_code(deployment: Deployment, definition: WorkflowDefinition) -> Code:
    """Return the shared modules and one version's slice. The registry, naming all, is left out."""
    workflow, version = definition.slice_package.split(".")[1:]
    return _code(
        deployment,
        *_only(*SHARED_PACKAGES, "workflows"),
        "/workflows/registry.py",
        "/workflows/*/",
        f"!/workflows/{workflow}/",
        f"/workflows/{workflow}/*/",
        f"!/workflows/{workflow}/{version}/",
    )


def door_code(deployment: Deployment, package: str) -> Code:
    """Return the shared modules, every registered version's data and one entry package."""
    return _code(deployment, *_only(*SHARED_PACKAGES, "workflows", package))


def page_code(deployment: Deployment) -> Code:
    """Return the pages with the function that serves them, and nothing of the ledger."""
    return _code(deployment, *_only("console"))


def _only(*packages: str) -> tuple[str, ...]:
    # The sandbox adds a bootstrap file, which starts Lambda's own runtime client.
    return ("/*", "!/bootstrap", *(f"!/{package}" for package in packages))


def _code(deployment: Deployment, *patterns: str) -> Code:
    return Code.from_asset(
        deployment.functions_path,
        exclude=[*patterns, *NEVER],
        ignore_mode=IgnoreMode.GIT,
    )
