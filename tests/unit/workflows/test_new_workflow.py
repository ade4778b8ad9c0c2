"""What ``make new-workflow`` and its like write, and what they refuse."""

import importlib
import importlib.util
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import tests.recovery.scenarios as recovery_scenarios
import workflows
from ledger.workflow import WorkflowDefinition
from stacks.machine_check import wrong_in
from tests.scaffold.__main__ import main
from tests.scaffold.blanks import MARK, blanks_of
from tests.scaffold.definitions import definition_in
from tests.scaffold.machine import machine_for
from tests.scaffold.names import MAX_NAME_CHARACTERS
from tests.scaffold.refusal import RefusedError
from tests.scaffold.registry_edit import REGISTRY
from tests.scaffold.state_machine import new_machine
from tests.scaffold.version import COUNTERS, new_version
from tests.scaffold.workflow import new_workflow
from workflows.registry import CURRENT
from workflows.registry import REGISTRY as REGISTERED

ROOT = Path(__file__).parents[3]
# Of this name there is none, and will be none.
NAME, PACKAGE, CONSTANT = "test-of-scaffold", "test_of_scaffold", "TEST_OF_SCAFFOLD_1"
CONTRACT = f"functions/workflows/{PACKAGE}/v1/contract.py"
MACHINE = f"statemachines/{PACKAGE}/v1.asl.json"
UNIT_TEST = f"tests/unit/workflows/test_{PACKAGE}.py"
SCENARIO = f"tests/recovery/scenarios/{PACKAGE}.py"
SCHEDULE = f"tests/simulation/scenarios/{PACKAGE}.py"
NEWEST = CURRENT["cancel-refund"].number
RELEASED = next(iter(json.loads((ROOT / "statemachines/released.json").read_text("utf-8"))))
LONGEST = "a-workflow-with-a-long-name-42"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return a tree with what a developer's has where something is written."""
    for folder in ("functions/workflows", "statemachines"):
        shutil.copytree(
            ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__")
        )
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def files_in(root: Path) -> dict[str, str]:
    return {
        str(path.relative_to(root)): path.read_text(encoding="utf-8")
        for path in root.rglob("*")
        if path.is_file()
    }


def definition_at(root: Path, path: str) -> WorkflowDefinition:
    return definition_in((root / path).read_text(encoding="utf-8"))


def tuples_in(registry: str) -> tuple[list[str], list[str]]:
    """Return the constants of the versions that take new runs, and of those that do not."""
    taking = re.search(r"for definition in \(([\w,\s]*)\)", registry)
    kept = re.search(r"OLDER: tuple\[WorkflowDefinition, \.\.\.\] = \(([\w,\s]*)\)", registry)
    assert taking is not None
    assert kept is not None
    return re.findall(r"\w+", taking[1]), re.findall(r"\w+", kept[1])


def ruff(root: Path, *command: str) -> str:
    """Return what ruff finds in a tree; empty when nothing."""
    done = subprocess.run(
        [sys.executable, "-m", "ruff", *command, "--no-cache", "."],
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
    )
    return "" if done.returncode == 0 else done.stdout + done.stderr


@pytest.fixture
def written(root: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return a tree with a new workflow that can be imported."""
    new_workflow(NAME, "stripe_billing", root)
    for package, folder in ((workflows, "functions/workflows"), (recovery_scenarios, SCENARIO)):
        place = root / folder
        added = str(place if place.is_dir() else place.parent)
        monkeypatch.setattr(package, "__path__", [*package.__path__, added])
    yield root
    for name in [found for found in sys.modules if PACKAGE in found]:
        del sys.modules[name]


def imported(name: str) -> ModuleType:
    return importlib.import_module(name)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("", "is no name"),
        ("Keep-Subscription", "is no name"),
        ("keep_subscription", "is no name"),
        ("keep--subscription", "is no name"),
        ("-keep", "is no name"),
        ("keep-", "is no name"),
        ("2-keep", "is no name"),
        ("keep it", "is no name"),
        ("keep\n", "is no name"),
        ("../keep", "is no name"),
        ("keep@1", "is no name"),
        ("import", "word of Python"),
        (LONGEST + "x", "31 characters"),
        ("request-approval", "another part of every workflow"),
        ("contract", "another part of every workflow"),
        ("in-review", "another part of every workflow"),
        ("cancel-refund", "already"),
        ("project-export", "make new-version NAME=project-export"),
        ("registry", "already"),
    ],
)
def test_a_name_that_cannot_be_or_is_taken_is_refused_and_nothing_written(
    root: Path, name: str, why: str
) -> None:
    before = files_in(root)

    with pytest.raises(RefusedError, match=why):
        new_workflow(name, "stripe_billing", root)

    assert files_in(root) == before


@pytest.mark.parametrize("path", [UNIT_TEST, SCENARIO, SCHEDULE, MACHINE])
def test_a_file_of_the_name_that_is_there_already_is_left_as_it_is(root: Path, path: str) -> None:
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text("mine", encoding="utf-8")
    before = files_in(root)

    with pytest.raises(RefusedError, match=path):
        new_workflow(NAME, "stripe_billing", root)

    assert files_in(root) == before


def test_a_provider_that_there_is_not_is_refused_with_those_there_are(root: Path) -> None:
    before = files_in(root)

    with pytest.raises(RefusedError, match=r"ses_mail, stripe_billing, stripe_refunds"):
        new_workflow(NAME, "paypal", root)

    assert files_in(root) == before


@pytest.mark.parametrize(
    ("name", "provider"),
    [(NAME, "stripe_billing"), (NAME, ""), ("refund", "ses_mail"), (LONGEST, "ses_artifact_link")],
)
def test_all_that_is_written_is_linted_formatted_and_fits_its_machine(
    root: Path, name: str, provider: str
) -> None:
    assert len(LONGEST) == MAX_NAME_CHARACTERS
    package = name.replace("-", "_")

    new_workflow(name, provider, root)

    assert ruff(root, "check") == ""
    assert ruff(root, "format", "--check") == ""
    definition = definition_at(root, f"functions/workflows/{package}/v1/contract.py")
    assert definition.version == f"{name}@1"
    assert wrong_in(definition, (root / definition.asl_path).read_text(encoding="utf-8")) == []


def test_a_new_workflow_is_written_whole_and_changes_only_the_registry(root: Path) -> None:
    before = files_in(root)

    lines = new_workflow(NAME, "stripe_billing", root)

    after = files_in(root)
    slice_files = {f"functions/workflows/{PACKAGE}/__init__.py"} | {
        f"functions/workflows/{PACKAGE}/v1/{module}.py"
        for module in ("__init__", "contract", "confirm_targets", "request_approval", PACKAGE)
    }
    assert set(after) - set(before) == slice_files | {MACHINE, UNIT_TEST, SCENARIO, SCHEDULE}
    assert {path for path in before if after[path] != before[path]} == {REGISTRY}
    for path in (*slice_files, MACHINE, UNIT_TEST, SCENARIO, SCHEDULE):
        assert f"wrote {path}" in lines


def test_new_runs_of_it_are_opened_on_it(root: Path) -> None:
    new_workflow(NAME, "stripe_billing", root)

    registry = (root / REGISTRY).read_text(encoding="utf-8")

    assert f"from workflows.{PACKAGE}.v1.contract import DEFINITION as {CONSTANT}" in registry
    before = tuples_in((ROOT / REGISTRY).read_text(encoding="utf-8"))
    assert tuples_in(registry) == ([*before[0], CONSTANT], before[1])


def test_a_registry_that_looks_otherwise_is_left_alone_and_what_to_write_is_said(
    root: Path,
) -> None:
    (root / REGISTRY).write_text("CURRENT = read_from_somewhere()\n", encoding="utf-8")

    lines = new_workflow(NAME, "stripe_billing", root)

    assert (root / REGISTRY).read_text(encoding="utf-8") == "CURRENT = read_from_somewhere()\n"
    assert any(f"add {CONSTANT} to CURRENT" in line for line in lines)
    assert (root / CONTRACT).is_file()


def test_every_function_of_it_can_be_loaded(written: Path) -> None:
    definition = definition_at(written, CONTRACT)

    for stage in definition.stages:
        module = imported(f"{definition.slice_package}.{stage.name}")
        assert callable(module.handler)
        assert callable(getattr(module, stage.name))


def test_what_is_left_is_told_until_it_is_filled_in(written: Path) -> None:
    left = blanks_of(NAME, written)

    for path in (
        f"functions/workflows/{PACKAGE}/__init__.py",
        CONTRACT,
        UNIT_TEST,
        SCENARIO,
        SCHEDULE,
    ):
        assert any(found.startswith(f"{path}:") for found in left), path
    for folder in (written / "functions/workflows", written / "tests"):
        for file in folder.rglob("*.py"):
            text = file.read_text(encoding="utf-8").replace(MARK, "").replace("fill_in(", "done(")
            file.write_text(text, encoding="utf-8")
    assert blanks_of(NAME, written) == []


def test_its_own_test_fails_before_it_is_said_what_a_person_is_shown(written: Path) -> None:
    spec = importlib.util.spec_from_file_location(f"test_{PACKAGE}", written / UNIT_TEST)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)

    with pytest.raises(AssertionError, match="Write into SHOWN what a person has to see"):
        module.test_a_person_is_asked_for_exactly_this()
    module.test_a_whole_request_is_taken()


def test_its_scenario_says_what_to_do_before_it_can_be_played(written: Path) -> None:
    module = imported(f"tests.recovery.scenarios.{PACKAGE}")
    scenario = module.scenario(definition_at(written, CONTRACT))

    with pytest.raises(AssertionError) as said:
        scenario.outside.providers(object())

    assert str(said.value) == (
        f"{SCENARIO}: return the adapters that the stages are given, over tapped clients, in the "
        "place of the call to fill_in. See docs/new-workflow.md."
    )


@pytest.mark.parametrize("definition", REGISTERED.values(), ids=REGISTERED.keys())
def test_a_machine_can_be_written_for_every_registered_version(
    definition: WorkflowDefinition,
) -> None:
    assert wrong_in(definition, machine_for(definition)) == []


def test_a_machine_is_written_anew_for_the_stages_that_there_are_now(root: Path) -> None:
    new_workflow(NAME, "stripe_billing", root)
    contract = (root / CONTRACT).read_text(encoding="utf-8")
    (root / CONTRACT).write_text(
        contract.replace("timeout_seconds=60", "timeout_seconds=90"), encoding="utf-8"
    )
    definition = definition_at(root, CONTRACT)
    assert wrong_in(definition, (root / MACHINE).read_text(encoding="utf-8")) != []

    assert new_machine(f"{NAME}@1", root) == [f"wrote {MACHINE}"]

    assert wrong_in(definition, (root / MACHINE).read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("version", "why"),
    [
        (RELEASED, "make new-version NAME="),
        (f"cancel-refund@{NEWEST + 1}", "There is no"),
        ("cancel-refund", "There is no"),
        ("nothing-there@1", "There is no"),
        ("../x@1", "is no name"),
    ],
)
def test_a_machine_that_is_released_or_of_nothing_is_not_written(
    root: Path, version: str, why: str
) -> None:
    before = files_in(root)

    with pytest.raises(RefusedError, match=why):
        new_machine(version, root)

    assert files_in(root) == before


def test_a_new_version_is_the_newest_one_under_the_next_number(root: Path) -> None:
    before = files_in(root)

    new_version("cancel-refund", root)

    after = files_in(root)
    new = definition_at(root, f"functions/workflows/cancel_refund/v{NEWEST + 1}/contract.py")
    old = CURRENT["cancel-refund"]
    assert {path for path in before if after[path] != before[path]} == {REGISTRY, COUNTERS}
    assert new.version == f"cancel-refund@{NEWEST + 1}"
    assert (new.stages, new.operations, new.contracts) == (
        old.stages,
        old.operations,
        old.contracts,
    )
    assert wrong_in(new, after[f"statemachines/cancel_refund/v{NEWEST + 1}.asl.json"]) == []
    written_text = "".join(after[path] for path in set(after) - set(before))
    assert f"v{NEWEST}" not in written_text
    assert f"@{NEWEST}" not in written_text
    assert ruff(root, "check") == ""
    assert ruff(root, "format", "--check") == ""


def test_new_runs_are_opened_on_the_new_version_and_the_old_one_stays(root: Path) -> None:
    new_version("cancel-refund", root)

    registry = (root / REGISTRY).read_text(encoding="utf-8")

    old, new = f"CANCEL_REFUND_{NEWEST}", f"CANCEL_REFUND_{NEWEST + 1}"
    taking, kept = tuples_in((ROOT / REGISTRY).read_text(encoding="utf-8"))
    taking.remove(old)
    assert tuples_in(registry) == ([*taking, new], [*kept, old])


def test_what_could_be_taken_back_can_be_on_the_new_version(root: Path) -> None:
    new_version("cancel-refund", root)

    counters = (root / COUNTERS).read_text(encoding="utf-8")

    for number in (NEWEST, NEWEST + 1):
        assert f'"cancel-refund@{number}": (RESUME_RENEWAL,)' in counters


def test_where_nothing_can_be_taken_back_that_list_is_left_alone(root: Path) -> None:
    before = (root / COUNTERS).read_text(encoding="utf-8")

    new_version("project-export", root)

    assert (root / COUNTERS).read_text(encoding="utf-8") == before


@pytest.mark.parametrize(
    ("name", "why"), [("nothing-there", "make new-workflow NAME=nothing-there"), ("X", "no name")]
)
def test_a_version_of_nothing_is_not_written(root: Path, name: str, why: str) -> None:
    before = files_in(root)

    with pytest.raises(RefusedError, match=why):
        new_version(name, root)

    assert files_in(root) == before


def test_what_is_refused_ends_with_a_status_that_make_sees(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["workflow", "Not A Name"], root) == 2
    assert "Nothing was written. 'Not A Name' is no name" in capsys.readouterr().err

    assert main(["workflow", NAME, "--provider", "stripe_billing"], root) == 0
    assert f"wrote {CONTRACT}" in capsys.readouterr().out
