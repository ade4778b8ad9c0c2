"""Why mutants may live that no test notices: what was said of each by who has read it.

A mutant is known by its key, which stays as long as the function around it does. One whose function
has changed has to be read again.
"""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tests.mutation.generate import Mutant

REASONS = Path("tests/mutation/reasons.json")


def reasons_in(path: Path) -> dict[str, str]:
    """Return the reason of each mutant that was read, by its key; none when there is no file."""
    if not path.exists():
        return {}
    by_module: Mapping[str, list[dict[str, Any]]] = json.loads(path.read_text(encoding="utf-8"))
    return {
        str(entry["key"]): str(entry["reason"]) for found in by_module.values() for entry in found
    }


def unread(left: Iterable[Mutant], reasons: Mapping[str, str]) -> list[Mutant]:
    """Return the mutants of which nobody has said why they may live."""
    return [mutant for mutant in left if not reasons.get(mutant.key)]
