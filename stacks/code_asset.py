"""Which part of ``functions/`` a function carries.

One import root, filtered by an allow list: a version's functions hold the shared modules and their
own slice, so their code hash is the same whatever other versions exist beside them.
"""

from aws_cdk import IgnoreMode
from aws_cdk.aws_lambda import Code

from ledger.workflow import WorkflowDefinition
from stacks.deployment import Deployment

SHARED_PACKAGES = ("adapters", "ledger", "providers", "runtime")
# What every version's functions share of ``workflows``. No list of versions is in it: with one,
# a new version would change the code of every older one.
SHARED_OF_WORKFLOWS = ("__init__.py", "definition.py", "reconcile.py", "resume.py")
# Entry packages that read the list of versions. Their code changes with every version, that of the
# others with none.
KNOW_EVERY_VERSION = frozenset({"api", "reconciler"})
NEVER = ("__pycache__", "*.pyc")


def slice_code(deployment: Deployment, definition: WorkflowDefinition) -> Code:
    """Return the shared modules and one version's slice, and nothing that names another."""
    workflow, version = definition.slice_package.split(".")[1:]
    return _code(
        deployment,
        *_only(*SHARED_PACKAGES, "workflows"),
        "/workflows/*",
        *(f"!/workflows/{name}" for name in SHARED_OF_WORKFLOWS),
        f"!/workflows/{workflow}/",
        f"/workflows/{workflow}/*/",
        f"!/workflows/{workflow}/{version}/",
    )


def door_code(deployment: Deployment, package: str) -> Code:
    """Return the shared modules, one entry package and, where it reads them, all versions."""
    versions = ("workflows",) if package in KNOW_EVERY_VERSION else ()
    return _code(deployment, *_only(*SHARED_PACKAGES, *versions, package))


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
