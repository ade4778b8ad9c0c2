"""Mutants of functions: all tests are loaded once, and a fork exchanges the code of one function.

Which tests run which lines is measured first, so that a mutant meets only the tests that reach it:
those that killed its neighbours, then the quickest.
"""

import gc
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import _lru_cache_wrapper
from pathlib import Path
from types import CodeType, FunctionType

import pytest

from tests.mutation.children import HarnessFailed, Outcome, Verdict, limit_test, try_all
from tests.mutation.generate import Mutant

type Line = tuple[str, int]

# Slower tests of other modules take no part: they ask in combination what quicker ones ask alone.
SLOW_SECONDS = 0.1
# A mutant that so many tests do not notice has survived. More would see few of them, at a high
# price: what is left is read one by one anyway.
MAX_TESTS = 400
TOOL = 4  # of the six that sys.monitoring has; the named ones are a debugger's and a profiler's


@dataclass
class Measured:
    """What an undisturbed run of the tests shows."""

    seconds: dict[str, float] = field(default_factory=dict)
    at_import: set[Line] = field(default_factory=set)
    ways: dict[str, dict[str, frozenset[int]]] = field(default_factory=dict)
    """For each file and test, the lines that the test runs."""

    def add(self, test: str, seconds: float, lines: set[Line]) -> None:
        """Keep what one test did."""
        self.seconds[test] = seconds
        by_file: defaultdict[str, set[int]] = defaultdict(set)
        for file, line in lines:
            by_file[file].add(line)
        for file, found in by_file.items():
            self.ways.setdefault(file, {})[test] = frozenset(found)

    def reaching(self, mutant: Mutant) -> list[str]:
        """Return the tests that run the mutant's statement.

        The module's own come first, by the names of their files, then quick and unlike ones.
        """
        wanted = range(mutant.first_line, mutant.last_line + 1)
        ways = self.ways.get(str(mutant.path), {})
        own = f"/test_{mutant.path.stem}"
        tests = [
            test
            for test, lines in ways.items()
            if not lines.isdisjoint(wanted) and (own in test or self.seconds[test] <= SLOW_SECONDS)
        ]
        return sorted(spread(tests, self.seconds, ways), key=lambda test: own not in test)

    def imported(self, mutant: Mutant) -> bool:
        """Return whether loading the tests runs the mutant's statement."""
        lines = range(mutant.first_line, mutant.last_line + 1)
        return any((str(mutant.path), line) in self.at_import for line in lines)


class LiveSession:
    """A pytest plugin that measures the collected tests and then tries mutants on them."""

    def __init__(
        self,
        folder: Path,
        mutants: Sequence[Mutant],
        workers: int,
        report: Callable[[Mutant, Outcome], None],
        keep: Callable[[dict[str, float]], None],
    ) -> None:
        self.measured = Measured()
        self._keep = keep
        self._prefix = f"{folder}/"
        self._mutants = mutants
        self._workers = workers
        self._report = report
        self._failed = ""
        self._lines: set[Line] = self.measured.at_import
        self._functions: dict[tuple[str, str], list[FunctionType]] = {}
        self._forgetting: list[Callable[[], None]] = []
        self._items: dict[str, pytest.Item] = {}
        self._killers: defaultdict[tuple[str, str], Counter[str]] = defaultdict(Counter)

    def pytest_sessionstart(self) -> None:
        """Watch from the start which lines the imports run."""
        monitoring = sys.monitoring
        monitoring.use_tool_id(TOOL, "mutation")
        monitoring.register_callback(TOOL, monitoring.events.LINE, self._on_line)
        monitoring.set_events(TOOL, monitoring.events.LINE)

    def _on_line(self, code: CodeType, line: int) -> object:
        if code.co_filename.startswith(self._prefix):
            self._lines.add((code.co_filename, line))
        return sys.monitoring.DISABLE

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Measure and try, in place of running the tests once."""
        if session.testsfailed:
            raise session.Failed("the tests cannot be loaded")
        self._items = {item.nodeid: item for item in session.items}
        self._functions = _functions_under(self._prefix)
        self._forgetting = _clearers_under(self._prefix)
        self._measure(session.items)
        self._keep(self.measured.seconds)
        gc.collect()
        gc.freeze()  # a fork then copies no page only because the collector has looked at it
        possible = [mutant for mutant in self._mutants if self._is_exchangeable(mutant)]
        for mutant, outcome in try_all(possible, self._judge, self._workers):
            if outcome.test:
                for name in (mutant.function, ""):
                    self._killers[mutant.module, name][outcome.test] += 1
            self._report(mutant, outcome)
        return True

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Remember that a test failed."""
        if report.failed:
            self._failed = report.nodeid

    def _measure(self, items: Sequence[pytest.Item]) -> None:
        monitoring = sys.monitoring
        monitoring.set_events(TOOL, monitoring.events.NO_EVENTS)
        for functions in self._functions.values():
            for function in functions:
                for code in _with_inner(function.__code__):
                    monitoring.set_local_events(TOOL, code, monitoring.events.LINE)
        for item, after in _pairs(items):
            self._lines = set()
            self._forget()
            monitoring.restart_events()
            began = time.process_time()
            item.ihook.pytest_runtest_protocol(item=item, nextitem=after)
            seconds = time.process_time() - began
            self.measured.add(item.nodeid, seconds, self._lines)
            if self._failed:
                raise HarnessFailed(f"{self._failed} fails without any mutant")
        monitoring.free_tool_id(TOOL)

    def _forget(self) -> None:
        """Let no answer be known already: the code that makes it has to run."""
        for clear in self._forgetting:
            clear()

    def _is_exchangeable(self, mutant: Mutant) -> bool:
        """Return whether the function is alive and closes over nothing (``super()`` does)."""
        functions = self._functions.get((str(mutant.path), mutant.function), [])
        return bool(functions) and not any(found.__code__.co_freevars for found in functions)

    def _judge(self, mutant: Mutant) -> Outcome:
        tests = self.measured.reaching(mutant)
        if not tests:
            return Outcome(Verdict.UNREACHED)
        code = _code_in(_mutated(mutant), mutant.function)
        for function in self._functions[str(mutant.path), mutant.function]:
            function.__code__ = code
        self._forget()
        near, far = self._killers[mutant.module, mutant.function], self._killers[mutant.module, ""]
        ranked = sorted(tests, key=lambda test: (-near[test], -far[test]))
        for item, after in _pairs([self._items[test] for test in ranked[:MAX_TESTS]]):
            limit_test(self.measured.seconds[item.nodeid])
            item.ihook.pytest_runtest_protocol(item=item, nextitem=after)
            if self._failed:
                return Outcome(Verdict.KILLED, self._failed)
        return Outcome(Verdict.SURVIVED)


def spread(
    tests: Iterable[str], seconds: Mapping[str, float], ways: Mapping[str, Hashable]
) -> list[str]:
    """Return ``tests`` with the quickest of each file and of each way first, then the second.

    Tests of one file, or that go one way through the code, are alike: what one of them does not
    see the next seldom does.
    """
    ranks: Counter[Hashable] = Counter()
    placed = []
    for test in sorted(tests, key=lambda test: seconds.get(test, 0.0)):
        file, way = test.partition("::")[0], ways.get(test)
        rank = min(ranks[file], ranks[way]) if way is not None else ranks[file]
        placed.append((rank, seconds.get(test, 0.0), test))
        ranks.update((file, way))
    return [test for _, _, test in sorted(placed)]


def _pairs(items: Sequence[pytest.Item]) -> Iterator[tuple[pytest.Item, pytest.Item | None]]:
    yield from zip(items, [*items[1:], None], strict=True)


def _mutated(mutant: Mutant) -> CodeType:
    source = mutant.apply(mutant.path.read_text(encoding="utf-8"))
    return compile(source, str(mutant.path), "exec", dont_inherit=True)


def _functions_under(prefix: str) -> dict[tuple[str, str], list[FunctionType]]:
    """Return the live functions of the files under ``prefix``, by file and qualified name."""
    found: dict[tuple[str, str], list[FunctionType]] = {}
    for thing in gc.get_objects():
        if isinstance(thing, FunctionType) and thing.__code__.co_filename.startswith(prefix):
            code = thing.__code__
            found.setdefault((code.co_filename, code.co_qualname), []).append(thing)
    return found


def _clearers_under(prefix: str) -> list[Callable[[], None]]:
    """Return what clears the caches of functions of the files under ``prefix``."""
    return [
        thing.cache_clear
        for thing in gc.get_objects()
        if isinstance(thing, _lru_cache_wrapper)
        and isinstance(thing.__wrapped__, FunctionType)
        and thing.__wrapped__.__code__.co_filename.startswith(prefix)
    ]


def _with_inner(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _with_inner(constant)


def _code_in(module: CodeType, name: str) -> CodeType:
    return next(code for code in _with_inner(module) if code.co_qualname == name)
