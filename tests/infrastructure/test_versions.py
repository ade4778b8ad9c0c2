"""A released version stays as it is, whatever is released beside it."""

import contextlib
import json
import shutil
from pathlib import Path

import pytest

from tests.infrastructure.conftest import ROOT, Synthesize
from tests.infrastructure.templates import Assembly
from workflows.registry import REGISTRY

RELEASED = REGISTRY["cancel-refund@4"]
STACK = "recovery-ledger-cancel-refund-v4"
HANDLER = "workflows.cancel_refund.v4.issue_refund.handler"


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what a version is made of."""
    tree = tmp_path_factory.mktemp("tree")
    for name in ("functions", "statemachines"):
        shutil.copytree(
            ROOT / name, tree / name, ignore=shutil.ignore_patterns("__pycache__", ".*")
        )
    return tree


@pytest.fixture(scope="module")
def alone(synthesize: Synthesize, tree: Path) -> Assembly:
    """The app with the released version."""
    with contextlib.chdir(tree):
        return synthesize([RELEASED], functions_path=str(tree / "functions"))


@pytest.fixture(scope="module")
def both(synthesize: Synthesize, tree: Path, alone: Assembly) -> Assembly:
    """The app with a further version: its slice, its state machine and its registry entry."""
    assert alone.path.exists()  # synthesized before the next version is put beside it
    slices = tree / "functions/workflows/cancel_refund"
    shutil.copytree(slices / "v4", slices / "v999")
    machines = tree / "statemachines/cancel_refund"
    shutil.copy(machines / "v4.asl.json", machines / "v999.asl.json")
    with (tree / "functions/workflows/registry.py").open("a") as registry:
        registry.write("\n# One entry more.\n")
    with contextlib.chdir(tree):
        return synthesize(
            [RELEASED, RELEASED.model_copy(update={"number": 999})],
            functions_path=str(tree / "functions"),
        )


def test_the_next_version_gets_its_own_stack_with_no_stack_edited(both: Assembly) -> None:
    functions = both.template("recovery-ledger-cancel-refund-v999").functions()

    assert "workflows.cancel_refund.v999.issue_refund.handler" in functions


def test_a_released_template_is_the_same_beside_the_next_version(
    alone: Assembly, both: Assembly
) -> None:
    assert both.template(STACK).body == alone.template(STACK).body


def test_a_versions_code_holds_its_own_slice_and_no_list_of_versions(both: Assembly) -> None:
    code = both.code(both.template(STACK), HANDLER)
    packages = {path.name for path in code.iterdir()}
    slices = {path.name for path in (code / "workflows/cancel_refund").iterdir()}

    assert packages == {"adapters", "ledger", "providers", "runtime", "workflows"}
    assert slices == {"__init__.py", "v4"}
    assert not (code / "workflows/registry.py").exists()


def test_the_doors_of_the_system_know_every_version(both: Assembly) -> None:
    for stack, handler in (
        ("recovery-ledger-recovery", "reconciler.sweeper.handler"),
        ("recovery-ledger-api", "api.start_run.handler"),
    ):
        code = both.code(both.template(stack), handler)
        assert (code / "workflows/registry.py").exists()
        assert (code / "workflows/cancel_refund/v999").is_dir()


def test_the_ledger_is_the_same_beside_the_next_version(alone: Assembly, both: Assembly) -> None:
    ledger = "recovery-ledger-ledger"

    assert json.dumps(both.template(ledger).body) == json.dumps(alone.template(ledger).body)
