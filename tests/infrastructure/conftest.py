"""The app, synthesized once per variant. Loading the CDK library takes seconds, so not per test."""

import json
import os
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

# Read by the CDK library when it starts. The synth that counts, in test_synth.py, validates.
os.environ["CDK_VALIDATION"] = "false"

from aws_cdk import App

from ledger.workflow import WorkflowDefinition
from providers.contracts import CONTRACTS
from stacks.deployment import Deployment
from stacks.service import add_service
from tests.infrastructure.templates import Assembly
from workflows.registry import REGISTRY

ROOT = Path(__file__).parents[2]
Synthesize = Callable[..., Assembly]


@pytest.fixture(scope="session")
def context() -> dict[str, str]:
    """The context that is checked in."""
    settings = json.loads((ROOT / "cdk.json").read_text())
    return dict(settings["context"])


@pytest.fixture(scope="session")
def layer_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A layer of one file: what is in it matters to no template."""
    layer = tmp_path_factory.mktemp("layer")
    (layer / "python").mkdir()
    (layer / "python" / "library.py").write_text("")
    return layer


@pytest.fixture(scope="session")
def synthesize(
    tmp_path_factory: pytest.TempPathFactory, context: dict[str, str], layer_path: Path
) -> Synthesize:
    """Return a function that synthesizes the app, with other versions or context where given."""

    def run(
        definitions: Iterable[WorkflowDefinition] = tuple(REGISTRY.values()), **changed: str
    ) -> Assembly:
        outdir = tmp_path_factory.mktemp("cdk") / "out"
        app = App(
            outdir=str(outdir),
            context={**context, "layer_path": str(layer_path), **changed},
        )
        add_service(app, Deployment.from_context(app.node), definitions, CONTRACTS)
        app.synth()
        return Assembly(outdir)

    return run


@pytest.fixture(scope="session")
def assembly(synthesize: Synthesize) -> Assembly:
    """The app as it is deployed to AWS."""
    return synthesize()
