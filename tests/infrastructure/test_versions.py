"""A released version stays as it is, whatever is released or edited beside it."""

import contextlib
import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from ledger.workflow import WorkflowDefinition
from stacks.code_asset import KNOW_EVERY_VERSION
from tests.infrastructure.conftest import ROOT, Synthesize
from tests.infrastructure.templates import Assembly, Template
from workflows.registry import CURRENT, REGISTRY

VERSIONS = sorted(REGISTRY)
NEXT = 999
# The stacks that every version shares.
DOORS = ("recovery-ledger-api", "recovery-ledger-recovery")
OTHER_SHARED = ("recovery-ledger-artifacts", "recovery-ledger-ledger", "recovery-ledger-mail")

type Synth = Callable[[Path, Mapping[str, WorkflowDefinition]], Assembly]


def stack_of(version: str) -> str:
    """Return the name of the stack of ``version``."""
    return f"recovery-ledger-{version.replace('@', '-v')}"


def bytes_of(assembly: Assembly, stack: str) -> bytes:
    """Return a template as CloudFormation gets it, with the hash of all its code."""
    return (assembly.path / f"{stack}.template.json").read_bytes()


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Path]:
    """Return a function that copies what versions are made of, to be edited."""
    # One moment's state for all: somebody may be working on the original.
    original = tmp_path_factory.mktemp("original")
    ignored = shutil.ignore_patterns("__pycache__", ".*")
    for name in ("functions", "statemachines"):
        shutil.copytree(ROOT / name, original / name, ignore=ignored)

    def copy() -> Path:
        return shutil.copytree(original, tmp_path_factory.mktemp("tree") / "copy")

    return copy


@pytest.fixture(scope="module")
def synth(synthesize: Synthesize) -> Synth:
    """Return a function that synthesizes versions from a tree."""

    def run(tree: Path, definitions: Mapping[str, WorkflowDefinition]) -> Assembly:
        with contextlib.chdir(tree):
            return synthesize(definitions.values(), functions_path=str(tree / "functions"))

    return run


@pytest.fixture(scope="module")
def together(synth: Synth, tree: Callable[[], Path]) -> Assembly:
    """The app with every registered version."""
    return synth(tree(), REGISTRY)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_version_is_the_same_without_the_others(
    synth: Synth, tree: Callable[[], Path], together: Assembly, version: str
) -> None:
    # Given a tree in which there is no other version: neither its slice nor its state machine.
    alone = tree()
    kept = REGISTRY[version]
    for other in REGISTRY.values():
        if other is not kept:
            shutil.rmtree(alone / "functions" / other.slice_package.replace(".", "/"))
            (alone / other.asl_path).unlink()

    by_itself = synth(alone, {version: kept})

    assert bytes_of(by_itself, stack_of(version)) == bytes_of(together, stack_of(version))


def edit(tree: Path, definition: WorkflowDefinition) -> WorkflowDefinition:
    """Edit code, state machine and data of a version; return its new definition."""
    for path in (tree / "functions" / definition.slice_package.replace(".", "/")).glob("*.py"):
        path.write_text(f"{path.read_text()}\n# Edited.\n")
    machine = json.loads((tree / definition.asl_path).read_text())
    machine["States"]["Pause"]["Seconds"] += 1
    (tree / definition.asl_path).write_text(json.dumps(machine))
    first, *others = definition.stages
    longer = first.model_copy(update={"timeout_seconds": first.timeout_seconds + 1})
    return definition.model_copy(update={"stages": (longer, *others)})


@pytest.mark.parametrize("version", VERSIONS)
def test_an_edit_of_one_version_changes_no_other(
    synth: Synth, tree: Callable[[], Path], together: Assembly, version: str
) -> None:
    edited_tree = tree()
    edited = edit(edited_tree, REGISTRY[version])

    beside = synth(edited_tree, {**REGISTRY, version: edited})

    changed = [
        found
        for found in VERSIONS
        if bytes_of(beside, stack_of(found)) != bytes_of(together, stack_of(found))
    ]
    assert changed == [version]
    # And of that one, all that was edited: every function's code, the machine, a time limit.
    before, after = (found.template(stack_of(version)) for found in (together, beside))
    assert not codes(before) & codes(after)
    machine = "AWS::StepFunctions::StateMachine"
    assert before.only(machine)["Properties"] != after.only(machine)["Properties"]
    handler = f"{edited.slice_package}.{edited.stages[0].name}.handler"
    assert after.functions()[handler]["Properties"]["Timeout"] == edited.stages[0].timeout_seconds


def codes(template: Template) -> set[str]:
    """Return the hashes of the code of a stack's functions."""
    return {found["Properties"]["Code"]["S3Key"] for found in template.functions().values()}


@pytest.fixture(scope="module")
def newest(synth: Synth, tree: Callable[[], Path]) -> tuple[WorkflowDefinition, Assembly]:
    """A further version of a workflow: its slice, its state machine and its registry entry."""
    copied = tree()
    before = next(iter(CURRENT.values()))
    after = before.model_copy(update={"number": NEXT})
    shutil.copytree(
        copied / "functions" / before.slice_package.replace(".", "/"),
        copied / "functions" / after.slice_package.replace(".", "/"),
    )
    shutil.copy(copied / before.asl_path, copied / after.asl_path)
    with (copied / "functions/workflows/registry.py").open("a") as registry:
        registry.write("\n# One entry more.\n")
    return after, synth(copied, {**REGISTRY, after.version: after})


type Newest = tuple[WorkflowDefinition, Assembly]


def test_the_next_version_gets_its_own_stack_with_no_stack_edited(newest: Newest) -> None:
    definition, assembly = newest
    functions = assembly.template(stack_of(definition.version)).functions()

    assert set(functions) == {
        "workflows.resume.handler",
        "workflows.reconcile.handler",
        *(f"{definition.slice_package}.{stage.name}.handler" for stage in definition.stages),
    }


@pytest.mark.parametrize("version", VERSIONS)
def test_a_released_version_is_the_same_beside_the_next(
    newest: Newest, together: Assembly, version: str
) -> None:
    assert bytes_of(newest[1], stack_of(version)) == bytes_of(together, stack_of(version))


@pytest.mark.parametrize("stack", OTHER_SHARED)
def test_what_holds_data_or_sends_is_the_same_beside_the_next(
    newest: Newest, together: Assembly, stack: str
) -> None:
    assert bytes_of(newest[1], stack) == bytes_of(together, stack)


@pytest.mark.parametrize("stack", DOORS)
def test_of_the_doors_only_the_code_that_reads_the_list_of_versions_is_new(
    newest: Newest, together: Assembly, stack: str
) -> None:
    """No role, no policy, no setting, no route, no rule: those speak of all versions, by name."""
    before, after = together.template(stack), newest[1].template(stack)

    assert with_one_code(before) == with_one_code(after)
    for handler, function in after.functions().items():
        changed = (
            function["Properties"]["Code"] != before.functions()[handler]["Properties"]["Code"]
        )
        assert changed == (handler.partition(".")[0] in KNOW_EVERY_VERSION), handler


def with_one_code(template: Template) -> dict[str, Any]:
    """Return a template as if the code of all its functions were the same."""
    body: dict[str, Any] = json.loads(json.dumps(template.body))
    for resource in body["Resources"].values():
        if resource["Type"] == "AWS::Lambda::Function":
            resource["Properties"]["Code"] = "one"
            resource.pop("Metadata", None)
    return body


@pytest.mark.parametrize("version", VERSIONS)
def test_a_versions_code_holds_its_own_slice_and_no_list_of_versions(
    together: Assembly, version: str
) -> None:
    definition = REGISTRY[version]
    workflow = Path(*definition.slice_package.split("."))
    for handler in together.template(stack_of(version)).functions():
        code = together.code(together.template(stack_of(version)), handler)
        folders = {path.relative_to(code) for path in (code / "workflows").rglob("*/")}
        files = {path.name for path in (code / "workflows").iterdir() if path.is_file()}

        assert {path.name for path in code.iterdir()} == {
            "adapters",
            "ledger",
            "providers",
            "runtime",
            "workflows",
        }
        assert folders == {workflow, workflow.parent}
        assert files == {"__init__.py", "definition.py", "reconcile.py", "resume.py"}
