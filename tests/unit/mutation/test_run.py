"""A whole run over a small package: what its tests notice is killed, the rest is shown."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.mutation.children import Outcome, Verdict
from tests.mutation.generate import Mutant, mutants_of
from tests.mutation.results import Results

ROOT = Path(__file__).parents[3]
CODE = '''"""Who may come in."""

from functools import lru_cache

LIMIT = 3


@lru_cache
def badge(guest: int) -> str:
    """Return what is worn."""
    return f"guest-{guest}"


def is_full(guests: int) -> bool:
    """Return whether nobody else may come in."""
    return guests >= LIMIT


def never_asked() -> str:
    """Return a word."""
    return "word"
'''
TESTS = """from ledger.room import badge, is_full


def test_badge() -> None:
    assert badge(1) == "guest-1"


def test_full() -> None:
    assert is_full(4)
    assert not is_full(2)
"""
SETTINGS = """[tool.pytest.ini_options]
pythonpath = ["functions", "."]
addopts = ["--import-mode=importlib"]
timeout = 60
"""


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """Return a folder with a package, its tests and a folder to work in."""
    for name, text in {
        "functions/ledger/__init__.py": "",
        "functions/ledger/room.py": CODE,
        "tests/unit/ledger/test_room.py": TESTS,
        "pyproject.toml": SETTINGS,
    }.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    (tmp_path / "work").mkdir()
    return tmp_path


def run(package: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Try the package's mutants."""
    inside = ("-m", "tests.mutation", "--inside", str(package / "work"), "--workers", "1")
    return subprocess.run(
        [sys.executable, *inside, *arguments],
        cwd=package,
        env={**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "100"},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


@pytest.mark.slow
def test_given_weak_tests_when_mutants_are_tried_then_what_they_miss_is_shown(
    package: Path,
) -> None:
    first = run(package, "--at-least", "90")
    again = run(package, "--at-least", "33")

    assert first.returncode == 1, first.stdout + first.stderr
    shown = (package / "work/survivors.diff").read_text(encoding="utf-8")
    assert "room.py:16 is_full survived" in shown
    assert "+    return guests > LIMIT" in shown
    assert "room.py:5  survived" in shown
    assert "+LIMIT = 4" in shown
    assert "room.py:21 never_asked unreached" in shown
    assert "None" not in shown  # no comparison with it works, and that was noticed
    assert "badge" not in shown  # though its answer was remembered before it was changed
    assert "not read yet" in shown
    assert again.returncode == 0
    assert "6 mutants, 6 known from before" in again.stdout
    assert (package / "functions/ledger/room.py").read_text(encoding="utf-8") == CODE


@pytest.mark.slow
def test_given_tests_that_fail_by_themselves_when_started_then_no_verdict_is_given(
    package: Path,
) -> None:
    (package / "tests/unit/ledger/test_room.py").write_text(
        TESTS + "    assert is_full(2)\n", encoding="utf-8"
    )

    found = run(package)

    assert found.returncode != 0
    assert "test_full fails without any mutant" in found.stdout + found.stderr
    assert not (package / "work/results.jsonl").exists()


def test_given_a_known_outcome_when_the_test_that_gave_it_changes_then_it_is_asked_again(
    package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(package)
    mutant, other, *_ = mutants_of("ledger.room", package / "functions/ledger/room.py")
    test = Path("tests/unit/ledger/test_room.py")

    def results() -> Results:
        return Results(package / "work/results.jsonl", test.parent, Path("functions/ledger"))

    results().add(mutant, Outcome(Verdict.KILLED, f"{test}::test_full"))
    results().add(other, Outcome(Verdict.SURVIVED))
    assert results().missing([mutant, other]) == []

    (test.parent / "test_other.py").write_text("", encoding="utf-8")
    assert results().missing([mutant, other]) == [other]

    test.write_text(TESTS + "\n", encoding="utf-8")
    assert results().missing([mutant, other]) == [mutant, other]


@pytest.mark.slow
def test_given_survivors_when_some_are_not_read_then_the_run_fails_until_each_has_its_reason(
    package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(package)
    run(package)
    found = Results(
        package / "work/results.jsonl", Path("tests/unit/ledger"), Path("functions/ledger")
    )
    left = [
        mutant
        for mutant in mutants_of("ledger.room", package / "functions/ledger/room.py")
        if found.known[mutant.key].verdict in (Verdict.SURVIVED, Verdict.UNREACHED)
    ]
    kept = package / "tests/mutation/reasons.json"
    kept.parent.mkdir(parents=True)

    def after_reading(some: list[Mutant]) -> subprocess.CompletedProcess[str]:
        said = [{"key": mutant.key, "reason": "a matter of taste"} for mutant in some]
        kept.write_text(json.dumps({"room": said}), encoding="utf-8")
        return run(package, "--all-read")

    some, every = after_reading(left[1:]), after_reading(left)

    assert some.returncode == 1
    assert f"{len(left)} were not noticed, and 1 of them not read yet" in some.stdout
    assert every.returncode == 0, every.stdout + every.stderr
    shown = (package / "work/survivors.diff").read_text(encoding="utf-8")
    assert shown.count("a matter of taste") == len(left)
