"""The breakers as one process knows them: it asks seldom, counts what it sees, and tells changes.

A breaker whose own state cannot be read or written lets calls pass.
"""

from collections.abc import Callable, Mapping
from functools import partial

from ledger.breaker import (
    BREAKER_OPEN,
    Admission,
    Breaker,
    Breakers,
    admission,
    after_answer,
    after_failure,
    probing,
)
from ledger.canonical import digest
from ledger.contract import BreakerLimits, FaultKind, ProviderContract
from ledger.errors import LedgerError
from ledger.ports import Clock
from ledger.provider import ProviderFault
from ledger.record import Scalar
from runtime.log import log, log_failure

# At most one read of the state in so long, for each provider and process. Others hear of an
# opening this much later, which is a few calls.
REMEMBERED_SECONDS = 5
# Two processes that count at once: the second reads what the first wrote and counts on top of it.
MAX_COUNTS = 2
# 48 bits: of the few writes that fail within a minute, no two look the same.
WRITE_CHARACTERS = 12


class Budget:
    """What this process knows of all breakers."""

    def __init__(self, breakers: Breakers, clock: Clock) -> None:
        """Know nothing yet."""
        self._breakers = breakers
        self._clock = clock
        self._known: dict[str, tuple[Breaker, int]] = {}
        """Each breaker with the time at which it was read or written."""

    def admit(self, contract: ProviderContract) -> None:
        """Return when a call may be made. Raises ProviderFault when it is held back."""
        try:
            held_back = self._is_held_back(contract)
        except LedgerError as error:
            log_failure("no breaker to ask; the call passes", error, provider=contract.provider)
            return
        if held_back:
            raise ProviderFault(FaultKind.NEVER_SENT, code=BREAKER_OPEN)

    def failed(self, contract: ProviderContract, bound: Mapping[str, Scalar]) -> None:
        """Count a call, for the write with these bound fields, that could not be served."""
        self._count(contract, partial(after_failure, write=_write(bound)))

    def answered(self, contract: ProviderContract) -> None:
        """Count an answer. While the breaker is closed this asks and writes nothing."""
        known = self._known.get(contract.provider)
        if known is not None and known[0].open_until_ms is not None:
            self._count(contract, after_answer)

    def _is_held_back(self, contract: ProviderContract) -> bool:
        breaker = self._breaker(contract)
        match admission(breaker, self._clock.now_ms()):
            case Admission.PASS:
                return False
            case Admission.HELD_BACK:
                return True
            case Admission.PROBE:
                probe = probing(breaker, contract.breaker, self._clock.now_ms())
                return not self._save(probe)

    def _count(
        self,
        contract: ProviderContract,
        changed: Callable[[Breaker, BreakerLimits, int], Breaker],
    ) -> None:
        try:
            for _ in range(MAX_COUNTS):
                breaker = self._breaker(contract)
                counted = changed(breaker, contract.breaker, self._clock.now_ms())
                if counted == breaker or self._save(counted):
                    _tell(breaker, counted)
                    return
        except LedgerError as error:
            log_failure("a breaker could not count", error, provider=contract.provider)

    def _breaker(self, contract: ProviderContract) -> Breaker:
        name, now_ms = contract.provider, self._clock.now_ms()
        known = self._known.get(name)
        if known is not None and now_ms - known[1] < REMEMBERED_SECONDS * 1000:
            return known[0]
        found = self._breakers.load(name) or Breaker(provider=name)
        self._known[name] = (found, now_ms)
        return found

    def _save(self, breaker: Breaker) -> bool:
        """Return whether it was stored; where not, what is known is out of date."""
        self._known.pop(breaker.provider, None)
        if not self._breakers.save(breaker):
            return False
        stored = breaker.model_copy(update={"revision": breaker.revision + 1})
        self._known[breaker.provider] = (stored, self._clock.now_ms())
        return True


def _write(bound: Mapping[str, Scalar]) -> str:
    """Return what tells a write from others: a check of authority knows no effect yet."""
    return digest(bound).removeprefix("sha256:")[:WRITE_CHARACTERS]


def _tell(before: Breaker, after: Breaker) -> None:
    was_open, is_open = before.open_until_ms is not None, after.open_until_ms is not None
    if was_open != is_open:
        outcome = "open" if is_open else "closed"
        log("a breaker has changed", provider=after.provider, outcome=outcome)
