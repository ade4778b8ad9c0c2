"""Bounded repeats with full jitter: the only retries between the ledger and its table."""

from collections.abc import Callable
from typing import NamedTuple

from botocore.exceptions import ClientError

from adapters.aws_faults import LOST_ANSWERS, Fault, TornReadError, describe, fault_of
from ledger.errors import InvariantBroken, LedgerUnavailable


class Pace(NamedTuple):
    """How often a call is sent in all, and how long is waited before it is sent again."""

    max_sends: int
    first_pause_ms: int
    max_pause_ms: int


# Seconds until a call without answers is given up: three sends of 1 + 2 s and the pauses. An
# invocation needs this much time left to begin anything that it must be able to write down.
GIVES_UP_AFTER_SECONDS = 12

PACES = {
    # Each send may cost the full timeout, so few of them.
    Fault.NO_ANSWER: Pace(max_sends=3, first_pause_ms=100, max_pause_ms=400),
    # On-demand capacity follows within seconds; the caller's own retry waits longer than we may.
    Fault.THROTTLED: Pace(max_sends=5, first_pause_ms=200, max_pause_ms=1_000),
    # The other transaction ends within tens of milliseconds.
    Fault.CONTENDED: Pace(max_sends=5, first_pause_ms=25, max_pause_ms=200),
}


class Patience:
    """Repeats a call that is safe to repeat. ``random`` returns 0 <= x < 1, ``sleep`` seconds."""

    def __init__(self, sleep: Callable[[float], None], random: Callable[[], float]) -> None:
        """Take time and randomness from outside."""
        self._sleep = sleep
        self._random = random

    def call[T](self, send: Callable[[], T]) -> T:
        """Return what ``send`` returns, sent again while that may help.

        Raises:
            LedgerUnavailable: the bound was reached; the last send may have had its effect.
            InvariantBroken: AWS refused the request itself, which no repeat changes.
            ClientError: a condition failed or a token was reused; the caller decides.
        """
        sends = 0
        while True:  # ends: every pace has its ``max_sends``
            try:
                return send()
            except (ClientError, TornReadError, *LOST_ANSWERS) as error:
                sends += 1
                self._wait_or_give_up(error, sends)

    def _wait_or_give_up(self, error: Exception, sends: int) -> None:
        fault = fault_of(error)
        if fault is Fault.REFUSED:
            raise InvariantBroken(f"The ledger's table refused: {describe(error)}.") from error
        if fault not in PACES:
            raise error
        pace = PACES[fault]
        if sends >= pace.max_sends:
            raise LedgerUnavailable(
                f"The ledger's table gave no usable answer in {sends} sends: {describe(error)}."
            ) from error
        ceiling_ms = min(pace.max_pause_ms, pace.first_pause_ms * 2 ** (sends - 1))
        # Full jitter: writers that met each other must not meet again at the same moment.
        self._sleep(self._random() * ceiling_ms / 1000)
