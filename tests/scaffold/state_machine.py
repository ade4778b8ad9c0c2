"""Write the state machine of a version anew, as its definition is now."""

import json
from pathlib import Path

from tests.scaffold.definitions import definition_in
from tests.scaffold.machine import machine_for
from tests.scaffold.names import names_of
from tests.scaffold.refusal import RefusedError
from tests.scaffold.written import write_all


def new_machine(version: str, root: Path) -> list[str]:
    """Write the state machine of ``version``, for example ``pause-subscription@1``.

    Raises RefusedError when there is no such version, or when it is released; then nothing is
    written.
    """
    workflow, _, number = version.partition("@")
    names = names_of(workflow)
    contract = root / f"functions/workflows/{names.package}/v{number}/contract.py"
    if not number.isdecimal() or not contract.is_file():
        raise RefusedError(f"There is no {version!r}; name a version, for example NAME=x-y@1.")
    released = json.loads((root / "statemachines/released.json").read_text(encoding="utf-8"))
    if version in released:
        raise RefusedError(
            f"{version} is released and its state machine frozen. A change is a new version: "
            f"make new-version NAME={workflow}."
        )
    definition = definition_in(contract.read_text(encoding="utf-8"))
    try:
        machine = machine_for(definition)
    except ValueError as error:
        raise RefusedError(str(error)) from error
    write_all({definition.asl_path: machine}, root)
    return [f"wrote {definition.asl_path}"]
