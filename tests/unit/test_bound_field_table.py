"""The written list of bound fields is what the registered versions bind, and nothing else."""

import re
from pathlib import Path

import pytest

from ledger.workflow import Operation
from workflows.registry import KNOWN

ROOT = Path(__file__).parents[2]
DESIGN = (ROOT / "docs" / "design.md").read_text(encoding="utf-8")
SECTION = DESIGN.split("## What an approval is bound to")[1].split("\n## ")[0]
ROW = re.compile(r"^\| `(\w+)` \| (.+) \| (.+) \|$", re.MULTILINE)
FIELD = re.compile(r"`(\w+)`(?: = `(\w+)`)?")
WRITTEN = {operation: fields for operation, fields, _ in ROW.findall(SECTION)}
REGISTERED = [
    pytest.param(operation, id=f"{version} {operation.name}")
    for version, definition in sorted(KNOWN.items())
    for operation in definition.operations
]


def bound(operation: Operation) -> dict[str, str]:
    """Return the operation's bound fields, with the value of each that its version fixes."""
    quoted = [name for name, _, _ in operation.evidence_fields]
    asked = dict.fromkeys((*operation.request_fields, *quoted), "")
    return asked | {name: str(value) for name, value in operation.fixed.items()}


def test_every_operation_that_is_registered_is_written_down_once_and_no_other() -> None:
    names = [name for name, _, _ in ROW.findall(SECTION)]

    assert sorted(names) == sorted(
        {operation.name for found in KNOWN.values() for operation in found.operations}
    )


@pytest.mark.parametrize("operation", REGISTERED)
def test_an_operation_binds_exactly_the_fields_that_are_written_down(operation: Operation) -> None:
    assert dict(FIELD.findall(WRITTEN[operation.name])) == bound(operation)
