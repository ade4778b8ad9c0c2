"""Mutants of what an import runs: a fork that has not loaded the ledger yet loads it changed."""

import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import CodeType, ModuleType

import pytest

from tests.mutation.children import HarnessFailed, Outcome, Verdict, limit_test
from tests.mutation.generate import Mutant
from tests.mutation.live import MAX_TESTS, SLOW_SECONDS, spread

# Loaded once, before the forks: the ledger and its tests build on these.
PRELOADED = ("hypothesis.strategies", "iso4217", "pydantic", "rfc8785")
# Processor time that loading the ledger and all of its tests usually takes.
LOADING_SECONDS = 3.0
# Files of tests that are tried before all of them are loaded.
LIKELY_FILES = 4


class _Changed(importlib.abc.MetaPathFinder):
    """Finds one module, with its code changed."""

    def __init__(self, mutant: Mutant) -> None:
        self._mutant = mutant

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,  # noqa: ARG002 - the file is known
        target: ModuleType | None = None,  # noqa: ARG002
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != self._mutant.module:
            return None
        loader = _ChangedLoader(self._mutant)
        return importlib.util.spec_from_file_location(fullname, self._mutant.path, loader=loader)


class _ChangedLoader(importlib.machinery.SourceFileLoader):
    def __init__(self, mutant: Mutant) -> None:
        super().__init__(mutant.module, str(mutant.path))
        self._mutant = mutant

    def get_code(self, fullname: str) -> CodeType:  # noqa: ARG002
        source = self._mutant.apply(self._mutant.path.read_text(encoding="utf-8"))
        return compile(source, self.path, "exec", dont_inherit=True)


class _Watch:
    """A pytest plugin: the quickest tests first, none that hangs, and the name of what failed."""

    def __init__(self, seconds: Mapping[str, float]) -> None:
        self.failed = ""
        self._seconds = seconds

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        known = {item.nodeid: item for item in items}
        quick = [test for test in known if self._seconds.get(test, 0) <= SLOW_SECONDS]
        items[:] = [known[test] for test in spread(quick, self._seconds, {})[:MAX_TESTS]]

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        limit_test(self._seconds.get(nodeid, 0))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed = report.nodeid

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.failed = report.nodeid


def preload() -> None:
    """Import what the ledger and its tests build on."""
    for name in PRELOADED:
        importlib.import_module(name)


def _own_tests(tests: Path, module: str) -> list[str]:
    """Return the files named after the module: ``test_due.py``, ``test_due_values.py``."""
    own = f"test_{module}"
    found = sorted(tests.glob(f"{own}*.py"))
    return [str(path) for path in found if path.stem == own or path.stem.startswith(f"{own}_")]


def judge_with(
    options: Sequence[str],
    tests: Path,
    seconds: Mapping[str, float],
    killers: Mapping[str, Counter[str]],
) -> Callable[[Mutant], Outcome]:
    """Return a judge that runs what is likely to fail, and then everything.

    Likely are a module's own tests, and the files of those that saw its other mutants.
    """

    def judge(mutant: Mutant) -> Outcome:
        sys.meta_path.insert(0, _Changed(mutant))
        own = _own_tests(tests, mutant.path.stem)
        seen_by = [name for name, _ in killers[mutant.module].most_common() if name not in own]
        for asked in filter(None, (own, seen_by[:LIKELY_FILES], [str(tests)])):
            watch = _Watch(seconds)
            limit_test(LOADING_SECONDS)
            code = pytest.main([*options, "--exitfirst", *asked], plugins=[watch])
            if code is pytest.ExitCode.USAGE_ERROR:
                raise HarnessFailed(f"pytest was asked wrongly: {asked}")
            if code not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
                return Outcome(Verdict.KILLED, watch.failed)
        return Outcome(Verdict.SURVIVED)

    return judge
