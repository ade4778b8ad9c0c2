"""The rule about versions that is written down is the one that is followed."""

import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from ledger.consequence import (
    CONTRACT_PARTS,
    DEFINITION_PARTS,
    OPERATION_PARTS,
    STAGE_PARTS,
    Part,
)

WRITTEN = (Path(__file__).parents[2] / "docs/versions.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("model", "parts"),
    [
        ("Operation", OPERATION_PARTS),
        ("Stage", STAGE_PARTS),
        ("CompletionContract", CONTRACT_PARTS),
        ("WorkflowDefinition", DEFINITION_PARTS),
    ],
)
def test_each_field_is_written_down_as_what_it_is_taken_for(
    model: str, parts: Mapping[str, Part]
) -> None:
    section = WRITTEN.split(f"### {model}\n")[1].split("\n#")[0]
    rows = re.findall(r"^\| `(\w+)` \| (\w+) \|", section, re.MULTILINE)

    assert dict(rows) == {name: part.value for name, part in parts.items()}
