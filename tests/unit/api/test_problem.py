"""Every refusal that is raised has a status: one without would end as a fault of ours."""

import ast
from pathlib import Path

from api.problem import STATUS_OF

FUNCTIONS = Path(__file__).parents[3] / "functions"


def raised_kinds() -> dict[str, str]:
    """Return the kinds of RequestRefused in the code, with a file that raises each.

    Raises AssertionError for a kind that is no literal: nobody could check it here.
    """
    found: dict[str, str] = {}
    for path in FUNCTIONS.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "RequestRefused":
                kind = node.args[0]
                assert isinstance(kind, ast.Constant), f"{path}:{node.lineno}"
                found[str(kind.value)] = path.name
    return found


def test_every_kind_that_is_raised_has_a_status_and_every_status_is_used() -> None:
    assert set(raised_kinds()) == set(STATUS_OF)


def test_a_refusal_is_the_callers_to_mend() -> None:
    assert all(400 <= status < 500 for status in STATUS_OF.values())
