"""The command line: copy the tree, try the mutants on the copy, and say what was noticed.

The copy is why a run leaves nothing changed, and why edits may go on meanwhile.
"""

import argparse
import json
import os
import shutil
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path

import pytest
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table

from tests.mutation.anew import judge_with, preload
from tests.mutation.children import HarnessFailed, Outcome, Verdict, try_all
from tests.mutation.generate import Mutant, known_mutants_of, modules_of
from tests.mutation.live import LiveSession
from tests.mutation.reasons import REASONS, reasons_in, unread
from tests.mutation.results import Results, survivors, table, unnoticed

ROOT = Path(__file__).parents[2]
WORK = ROOT / ".mutants"
TREE = WORK / "tree"
COPIED = ("functions", "statemachines", "tests", "pyproject.toml")
PACKAGE = Path("functions/ledger")
TESTS = Path("tests/unit/ledger")
# Plugins that would only cost time; the time-outs stay, since the settings name them.
OPTIONS = ("-q", "--assert=plain", "--tb=no", "--capture=no", "-p", "pytest_timeout")

console = Console()


def main(arguments: list[str] | None = None) -> int:
    """Return 0 when enough mutants were noticed and, if so asked, the others read; 1 when not."""
    asked = _parser().parse_args(arguments)
    if not asked.inside:
        _copy()
        os.chdir(TREE)
        again = ["-m", "tests.mutation", "--inside", str(WORK), *(arguments or sys.argv[1:])]
        os.execv(sys.executable, [sys.executable, *again])  # noqa: S606 - the same command
    work = Path(asked.inside)
    began = time.monotonic()
    files = modules_of(PACKAGE.absolute(), asked.modules)
    mutants = [mutant for path in files for mutant in known_mutants_of(path, work)]
    results = Results(work / "results.jsonl", TESTS, PACKAGE)
    missing = results.missing(mutants)
    console.print(f"{len(mutants)} mutants, {len(mutants) - len(missing)} known from before")
    _try(missing, results, asked.workers, work)
    results = Results(results.path, TESTS, PACKAGE)
    rows, score = table(mutants, results)
    _show(rows)
    shown = work / "survivors.diff"
    left, reasons = unnoticed(mutants, results), reasons_in(REASONS)
    shown.write_text(survivors(left, reasons), encoding="utf-8")
    to_read = unread([mutant for mutant, _ in left], reasons)
    minutes = (time.monotonic() - began) / 60
    console.print(f"{score:.1f} % noticed, {minutes:.1f} minutes; the others are in {shown}")
    console.print(f"{len(left)} were not noticed, and {len(to_read)} of them not read yet")
    return 0 if score >= asked.at_least and not (asked.all_read and to_read) else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    parser.add_argument("modules", nargs="*", help="modules of the ledger; all when none is named")
    parser.add_argument("--workers", type=int, default=2, help="mutants at a time")
    parser.add_argument("--at-least", type=float, default=0, help="the percentage to reach")
    parser.add_argument("--all-read", action="store_true", help="fail where a reason is missing")
    parser.add_argument("--inside", default="", help=argparse.SUPPRESS)
    return parser


def _copy() -> None:
    shutil.rmtree(TREE, ignore_errors=True)
    TREE.mkdir(parents=True)
    for name in COPIED:
        if (ROOT / name).is_dir():
            unwanted = shutil.ignore_patterns("__pycache__")
            shutil.copytree(ROOT / name, TREE / name, ignore=unwanted)
        else:
            shutil.copy2(ROOT / name, TREE / name)


def _try(missing: Sequence[Mutant], results: Results, workers: int, work: Path) -> None:
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    measured = work / "seconds.json"
    pid = os.fork()
    if not pid:
        os._exit(_live(missing, results, workers, measured))
    if os.waitpid(pid, 0)[1]:
        raise HarnessFailed("the tests could not be run without a mutant")
    results = Results(results.path, TESTS, PACKAGE)  # with what the child wrote
    preload()
    seconds = json.loads(measured.read_text(encoding="utf-8"))
    killers: defaultdict[str, Counter[str]] = defaultdict(Counter)
    left = results.missing(missing)
    with _progress() as progress:
        bar = progress.add_task("what imports run", total=len(left))
        for mutant, outcome in try_all(left, judge_with(OPTIONS, TESTS, seconds, killers), workers):
            results.add(mutant, outcome)
            progress.advance(bar)
            if outcome.test:
                killers[mutant.module][outcome.test.partition("::")[0]] += 1


def _progress() -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=console,
    )


def _live(missing: Sequence[Mutant], results: Results, workers: int, measured: Path) -> int:
    functions = [mutant for mutant in missing if mutant.function]
    with _progress() as progress:
        bar = progress.add_task("functions", total=len(functions))

        def report(mutant: Mutant, outcome: Outcome) -> None:
            progress.advance(bar)
            only_imported = session.measured.imported(mutant)
            if outcome.verdict is not Verdict.UNREACHED or not only_imported:
                results.add(mutant, outcome)

        def keep(seconds: dict[str, float]) -> None:
            measured.write_text(json.dumps(seconds), encoding="utf-8")

        session = LiveSession(PACKAGE.absolute(), functions, workers, report, keep)
        return int(pytest.main([*OPTIONS, str(TESTS)], plugins=[session]))


def _show(rows: Sequence[Sequence[str]]) -> None:
    columns = ("module", "mutants", *Verdict, "left", "%")
    shown = Table(*columns, box=None)
    for row in rows:
        shown.add_row(*row)
    console.print(shown)
