"""A budget for each provider, shared by all processes: one that fails is left alone for a while.

It is a courtesy and no safety rule. It holds back reads, and the check that comes before a claim,
so what it holds back was never begun; it changes no effect, and concludes nothing about one.

::

    closed     calls pass; the writes for which a call failed in a window are counted
    open       no call passes before ``open_until_ms``
    half open  one call at a time passes, as a probe; answers close it, a failure opens it again
"""

from enum import StrEnum
from typing import Protocol

from pydantic import Field

from ledger.contract import BreakerLimits, FaultKind
from ledger.record import StoredRecord

TOO_MANY_REQUESTS = 429
SERVER_ERRORS = 500

BREAKER_OPEN = "breaker_open"
"""The code of the fault with which a call is held back. Its kind is ``never_sent``."""


class Breaker(StoredRecord):
    """How a provider has answered lately."""

    provider: str
    revision: int = 0
    """Of the stored breaker; 0 for one that was never stored."""

    failing: dict[str, int] = Field(default_factory=dict)
    """While it is closed: when a call for each write failed last, by the write's digest. One that
    is repeated says nothing of the others. Never more than open it."""

    open_until_ms: int | None = None
    """None while it is closed."""

    probe_until_ms: int = 0
    """Until when a probe may be under way."""

    probes_answered: int = 0


class Admission(StrEnum):
    """What a call may do now."""

    PASS = "pass"  # noqa: S105  no secret
    PROBE = "probe"  # once the breaker that ``probing`` returns is stored
    HELD_BACK = "held_back"


class Breakers(Protocol):
    """Where breakers are kept. Every adapter passes one contract test suite."""

    def load(self, provider: str) -> Breaker | None:
        """Return the breaker, perhaps not the newest, None when there is none.

        Raises LedgerUnavailable.
        """

    def save(self, breaker: Breaker) -> bool:
        """Return whether it was stored as the next revision after its own.

        False when another revision was stored meanwhile. Raises LedgerUnavailable.
        """


def counts_as_failure(kind: FaultKind, status: int | None) -> bool:
    """Return whether a fault says that the provider can serve nobody now. A refusal does not.

    What stands before a provider that is down answers with pages of its own.
    """
    if kind in (FaultKind.ANSWERED, FaultKind.UNREADABLE):
        return status is not None and (status == TOO_MANY_REQUESTS or status >= SERVER_ERRORS)
    return kind in (FaultKind.NO_ANSWER, FaultKind.NEVER_SENT)


def admission(breaker: Breaker, now_ms: int) -> Admission:
    """Return what a call may do."""
    if breaker.open_until_ms is None:
        return Admission.PASS
    if now_ms < max(breaker.open_until_ms, breaker.probe_until_ms):
        return Admission.HELD_BACK
    return Admission.PROBE


def probing(breaker: Breaker, limits: BreakerLimits, now_ms: int) -> Breaker:
    """Return the breaker with a probe under way; who stores it may make the call."""
    return _changed(breaker, probe_until_ms=now_ms + limits.open_seconds * 1000)


def after_failure(breaker: Breaker, limits: BreakerLimits, now_ms: int, write: str) -> Breaker:
    """Return the breaker after a call for ``write`` failed; the same where that changes nothing."""
    if breaker.open_until_ms is not None:
        if now_ms < breaker.open_until_ms:
            return breaker  # the call had begun before
        return _opened(breaker, limits, now_ms)
    since_ms = now_ms - limits.window_seconds * 1000
    recent = {other: at_ms for other, at_ms in breaker.failing.items() if at_ms > since_ms}
    failing = {**recent, write: now_ms}
    if len(failing) >= limits.failures:
        return _opened(breaker, limits, now_ms)
    return _changed(breaker, failing=failing)


def after_answer(breaker: Breaker, limits: BreakerLimits, now_ms: int) -> Breaker:
    """Return the breaker after a call was answered; the same where that changes nothing."""
    if breaker.open_until_ms is None or now_ms < breaker.open_until_ms:
        return breaker
    answered = breaker.probes_answered + 1
    if answered < limits.probes:
        return _changed(breaker, probe_until_ms=0, probes_answered=answered)
    return _changed(breaker, failing={}, open_until_ms=None, probe_until_ms=0, probes_answered=0)


def _opened(breaker: Breaker, limits: BreakerLimits, now_ms: int) -> Breaker:
    until_ms = now_ms + limits.open_seconds * 1000
    return _changed(
        breaker, failing={}, open_until_ms=until_ms, probe_until_ms=0, probes_answered=0
    )


def _changed(breaker: Breaker, **changes: object) -> Breaker:
    return breaker.model_copy(update=changes)
