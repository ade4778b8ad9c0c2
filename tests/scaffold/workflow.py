"""A new workflow: its slice, its state machine, its registry entry and tests that say what is left.

What is written loads and keeps to every rule of form. It does nothing useful before somebody has
filled in what the marks ask for, and its tests fail until then.
"""

from pathlib import Path
from string import Template

from providers.contracts import CONTRACTS
from tests.scaffold.definitions import definition_in
from tests.scaffold.machine import machine_for
from tests.scaffold.names import Names, names_of
from tests.scaffold.refusal import RefusedError
from tests.scaffold.registry_edit import REGISTRY, entered, instruction
from tests.scaffold.written import refuse_existing, tidied, write_all

TEMPLATES = Path(__file__).parent / "templates"
# Stands in where none is named; a mark says so.
ANY_PROVIDER = "stripe_billing"
FIRST_NUMBER = 1


def new_workflow(workflow: str, provider: str, root: Path) -> list[str]:
    """Write the beginnings of ``workflow`` and return what to do next, a line each.

    ``provider`` is where its write is made, empty when that is to be filled in.

    Raises RefusedError for a name that cannot be, or is taken; then nothing is written.
    """
    names = names_of(workflow)
    if provider and provider not in CONTRACTS:
        raise RefusedError(
            f"There is no provider {provider!r}; there are {', '.join(sorted(CONTRACTS))}. Leave "
            "it out for one that is still to be written."
        )
    _refuse_taken(names, root)
    files = _filled_in(names, provider)
    definition = definition_in(files[_contract_path(names)])
    package, constant = f"workflows.{names.package}.v{FIRST_NUMBER}", names.constant(FIRST_NUMBER)
    registry = entered((root / REGISTRY).read_text(encoding="utf-8"), package, constant)
    refuse_existing([*files, definition.asl_path], root)
    if registry is not None:
        files[REGISTRY] = registry
    files = {**tidied(files, root), definition.asl_path: machine_for(definition)}
    write_all(files, root)
    notes = [] if registry is not None else [instruction(package, constant)]
    return [*(f"wrote {path}" for path in files), *notes, *_next_steps(names)]


def _refuse_taken(names: Names, root: Path) -> None:
    folder = root / "functions" / "workflows"
    taken = [folder / names.package, folder / f"{names.package}.py"]
    if any(path.exists() for path in taken):
        raise RefusedError(
            f"functions/workflows holds {names.package} already. For another version of a "
            f"workflow: make new-version NAME={names.workflow}."
        )


def _contract_path(names: Names) -> str:
    return f"functions/workflows/{names.package}/v{FIRST_NUMBER}/contract.py"


def _filled_in(names: Names, provider: str) -> dict[str, str]:
    slice_path = f"functions/workflows/{names.package}/v{FIRST_NUMBER}"
    templates = {
        f"functions/workflows/{names.package}/__init__.py": "workflow_init",
        f"{slice_path}/__init__.py": "version_init",
        _contract_path(names): "contract",
        f"{slice_path}/confirm_targets.py": "confirm_targets",
        f"{slice_path}/request_approval.py": "request_approval",
        f"{slice_path}/{names.package}.py": "write",
        f"tests/unit/workflows/test_{names.package}.py": "unit_test",
        f"tests/recovery/scenarios/{names.package}.py": "recovery_scenario",
        f"tests/simulation/scenarios/{names.package}.py": "simulation_scenario",
    }
    known = ", ".join(sorted(CONTRACTS))
    values = {
        "workflow": names.workflow,
        "version": f"{names.workflow}@{FIRST_NUMBER}",
        "package": names.package,
        "type_name": names.type_name,
        "words": names.words,
        "provider": provider or ANY_PROVIDER,
        "provider_module": f"providers/{provider or ANY_PROVIDER}.py",
        "provider_blank": ""
        if provider
        else f"            # FILL IN: the provider, here and wherever it is named. There are:\n"
        f"            # {known}.\n",
    }
    return {
        path: Template((TEMPLATES / f"{name}.txt").read_text(encoding="utf-8")).substitute(values)
        for path, name in templates.items()
    }


def _next_steps(names: Names) -> list[str]:
    slice_path = f"functions/workflows/{names.package}/v{FIRST_NUMBER}"
    unit_test = f"tests/unit/workflows/test_{names.package}.py"
    version = f"{names.workflow}@{FIRST_NUMBER}"
    return [
        "",
        "next:",
        f"1. {slice_path}/contract.py: fill in what is marked.",
        f"2. {unit_test}: fill it in, and run it until it passes: .venv/bin/pytest {unit_test}",
        f"3. make new-machine NAME={version}, whenever a stage or a time limit has changed.",
        f"4. tests/recovery/scenarios/{names.package}.py: fill in what there is and what has to",
        "   come of it.",
        f"   .venv/bin/pytest tests/recovery/test_crash_points.py -k {names.workflow}",
        f"5. tests/simulation/scenarios/{names.package}.py: fill in what others do there, and play",
        "   it: make simulate SEEDS=2000",
        f"6. statemachines/released.json: add the digest that this prints, once {version} is as it",
        "   shall stay: .venv/bin/pytest tests/unit/workflows/test_released_versions.py",
        "7. make test",
        "All of it with an example: docs/new-workflow.md",
    ]
