"""The table of field cases names every case, and only tests that there are."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TABLE = (ROOT / "docs" / "field-cases.md").read_text(encoding="utf-8")
CASES = frozenset(
    [f"C{number:02d}" for number in range(1, 27)] + ["X01", "X04", "X07", "X10", "X12"]
)
COVERED, OPEN = TABLE.split("## Open")
ROW = re.compile(r"^\| ([CX]\d{2}) \| (.+) \| (.+) \|$", re.MULTILINE)
TEST = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")
NAMED = sorted(set(TEST.findall(TABLE)))


def rows(part: str) -> list[tuple[str, str, str]]:
    """Return case, words and last column of each row."""
    return ROW.findall(part)


@cache
def names_in(path: str) -> frozenset[str]:
    """Return the names of a module's tests, and of its classes that hold some."""
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    functions = {found.name for found in ast.walk(tree) if isinstance(found, ast.FunctionDef)}
    classes = {
        found.name
        for found in tree.body
        if isinstance(found, ast.ClassDef)
        and any(
            isinstance(inner, ast.FunctionDef) and inner.name.startswith("test_")
            for inner in found.body
        )
    }
    return frozenset({name for name in functions if name.startswith("test_")} | classes)


def test_every_case_is_covered_or_open_and_no_other_is_told() -> None:
    assert {case for case, _, _ in rows(COVERED)} | {case for case, _, _ in rows(OPEN)} == CASES


def test_a_row_is_a_case_with_its_words_and_is_told_once() -> None:
    for part in (COVERED, OPEN):
        cases = [case for case, _, _ in rows(part)]
        assert cases == sorted(set(cases))
        assert len(cases) == len(re.findall(r"^\| [^c-]", part, re.MULTILINE))


def test_what_is_covered_names_a_test_of_its_own() -> None:
    for case, _, tests in rows(COVERED):
        named = [name for _, name in TEST.findall(tests)]
        assert len(named) == len(tests.split(", ")), f"{case} names something that is no test"
        assert any(name.startswith(f"Test{case}") for name in named), f"{case} has no own test"


def test_what_is_open_says_why() -> None:
    for case, _, reason in rows(OPEN):
        assert reason.endswith("."), f"{case} gives no reason"
        assert not TEST.findall(reason)


@pytest.mark.parametrize(("path", "name"), NAMED, ids=[name for _, name in NAMED])
def test_a_named_test_exists(path: str, name: str) -> None:
    assert name in names_in(path)


def test_no_named_scenario_is_left_out() -> None:
    scenarios = {
        (str(found.relative_to(ROOT)), name)
        for found in (ROOT / "tests" / "recovery").glob("test_field_cases_*.py")
        for name in names_in(str(found.relative_to(ROOT)))
        if name.startswith("Test")
    }
    assert scenarios <= set(NAMED)
