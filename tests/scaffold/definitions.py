"""Load a definition from the text of its contract, which nobody has to have written down yet."""

import importlib.util
from pathlib import Path
from tempfile import TemporaryDirectory

from ledger.workflow import WorkflowDefinition
from tests.scaffold.refusal import RefusedError


def definition_in(text: str) -> WorkflowDefinition:
    """Return the ``DEFINITION`` of a contract module. Raises RefusedError when it has none."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "contract.py")
        path.write_text(text, encoding="utf-8")
        spec = importlib.util.spec_from_file_location("contract", path)
        if spec is None or spec.loader is None:
            raise RefusedError("The contract is no module of Python.")
        module = importlib.util.module_from_spec(spec)
        try:
            spec.loader.exec_module(module)
        except ValueError as error:  # as pydantic tells what is wrong with a definition
            raise RefusedError(f"The contract cannot be loaded: {error}") from error
    definition = getattr(module, "DEFINITION", None)
    if not isinstance(definition, WorkflowDefinition):
        raise RefusedError("The contract has no DEFINITION.")
    return definition
