"""Every call of a port, counted; and at any of them, the process dies or an answer is lost.

Nothing here knows which calls there are: a port that is wrapped is covered, whatever it is asked.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from botocore.exceptions import ReadTimeoutError

from ledger.contract import FaultKind
from ledger.errors import LedgerUnavailable, RetryLater
from ledger.provider import ProviderFault
from tests.fakes.clock import FakeClock

# A call to another service takes some time; two moments are never equal by accident.
CALL_MS = 20
MANY_TURNS = 1_000  # more than happen in the time that a frozen process may last


class ProcessDied(BaseException):
    """The process is gone. No handler may keep it alive, so it is no Exception."""


class Strike(StrEnum):
    """What happens at one call of a port."""

    CRASH_BEFORE = "crash before"
    CRASH_AFTER = "crash after"
    LOST_REQUEST = "lost request"  # nothing happened, and no answer says so
    LOST_ANSWER = "lost answer"  # it happened, and no answer says so
    STALL_BEFORE = "stall before"  # the process freezes, is given up, and goes on later
    STALL_AFTER = "stall after"


CRASHES = frozenset({Strike.CRASH_BEFORE, Strike.CRASH_AFTER})
STALLS = frozenset({Strike.STALL_BEFORE, Strike.STALL_AFTER})
BEFORE = frozenset({Strike.CRASH_BEFORE, Strike.LOST_REQUEST, Strike.STALL_BEFORE})

# Documented as pure in ``ledger.provider.Provider``: nobody is asked, so no answer can be lost.
PURE_METHODS = frozenset({"compose", "consequence"})


def no_answer_of(port: str) -> Exception:
    """Return what the adapter behind ``port`` raises when it gets no answer."""
    match port:
        case "store":
            return LedgerUnavailable("The ledger's table gave no answer.")
        case "executions" | "doorbell" | "queue":
            return RetryLater("AWS gave no useful answer.")
        case "ses" | "s3":
            return ReadTimeoutError(endpoint_url="https://aws.invalid")
        case _:
            return ProviderFault(FaultKind.NO_ANSWER)


@dataclass(frozen=True)
class Call:
    """One call as it was counted."""

    index: int
    port: str
    method: str
    process: str
    """The kind of process that made it."""

    def __str__(self) -> str:
        """Return the call as people write it."""
        return f"{self.index}: {self.port}.{self.method} in {self.process}"

    def can_meet(self, strike: Strike) -> bool:
        """Return whether ``strike`` can happen at this call."""
        return self.method not in PURE_METHODS or strike in CRASHES | STALLS


@dataclass(frozen=True)
class Fault:
    """A strike at one call, counted from 0."""

    at: int
    strike: Strike
    turns: int = MANY_TURNS
    """How many turns others may take while this process is frozen."""


class Tap:
    """Counts calls through every wrapped port and strikes at those that ``faults`` name."""

    def __init__(self, clock: FakeClock, faults: Iterable[Fault] = ()) -> None:
        """Start counting at 0."""
        self.calls: list[Call] = []
        self.struck: list[Call] = []
        self.process = ""
        self.on_struck: Callable[[], None] = _nothing
        """Called when a strike has had its effect and before its exception is raised."""

        self.on_stall: Callable[[int], None] = _nothing_for
        """Lets the rest of the world take some turns while this process is frozen."""

        self._clock = clock
        self._faults = {fault.at: fault for fault in faults}
        self._armed: dict[tuple[str, str], Strike] = {}

    def strike_at(self, index: int, strike: Strike) -> None:
        """Strike at a call by its number."""
        self._faults[index] = Fault(index, strike)

    def strike_next(self, process: str, name: str, strike: Strike) -> None:
        """Strike at the next ``port.method`` that a process of this kind calls."""
        self._armed[process, name] = strike

    def wrap(self, port: str, target: object) -> Any:
        """Return a stand-in for ``target`` whose every call is counted."""
        return _Tapped(self, port, target)

    def call(self, port: str, method: str, act: Callable[[], Any]) -> Any:
        """Return what ``act`` returns, unless this call is struck."""
        call = Call(len(self.calls), port, method, self.process)
        self.calls.append(call)
        self._clock.pass_ms(CALL_MS)
        armed = self._armed.pop((call.process, f"{port}.{method}"), None)
        fault = Fault(call.index, armed) if armed else self._faults.get(call.index)
        if fault is None:
            return act()
        self.struck.append(call)
        strike = fault.strike
        if strike is Strike.STALL_BEFORE:
            self.on_struck()
            self.on_stall(fault.turns)
            return act()
        answer = None if strike in BEFORE else act()
        self.on_struck()
        if strike is Strike.STALL_AFTER:
            self.on_stall(fault.turns)
            return answer
        if strike in CRASHES:
            raise ProcessDied
        raise no_answer_of(port)


class _Tapped:
    """Stands in for any port: values pass through, calls are counted."""

    def __init__(self, tap: Tap, port: str, target: object) -> None:
        self._tap = tap
        self._port = port
        self._target = target

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._target, name)
        if not callable(found):
            return found

        def counted(*positional: Any, **named: Any) -> Any:
            return self._tap.call(self._port, name, lambda: found(*positional, **named))

        return counted

    def __call__(self, *positional: Any, **named: Any) -> Any:
        target = self._target
        if not callable(target):
            raise TypeError(f"{self._port} is not called by itself.")
        return self._tap.call(self._port, "send", lambda: target(*positional, **named))


def _nothing() -> None:
    return None


def _nothing_for(_turns: int) -> None:
    return None
