"""Providers behind their breakers: one that fails everybody is left alone for a while.

Held back are reads, and the check of authority, which comes before a claim: what is held back was
not begun, and is answered like a provider that could not be reached. A write is never held back:
its claim is on record, and its authority was read a moment ago. What a person asks for by hand is
not held back either: one look hammers nobody, and is wanted most while a provider fails. Every
outcome counts, theirs too.

A breaker whose own state cannot be read or written lets calls pass.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import override

from ledger.breaker import (
    BREAKER_OPEN,
    Admission,
    Breaker,
    Breakers,
    admission,
    after_answer,
    after_failure,
    counts_as_failure,
    probing,
)
from ledger.canonical import digest
from ledger.contract import BreakerLimits, FaultKind, LookUp, ProviderContract
from ledger.errors import LedgerError
from ledger.ports import Clock
from ledger.provider import (
    Authority,
    Findings,
    Intent,
    Provider,
    ProviderCall,
    ProviderFault,
    ProviderRecord,
)
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


class GuardedProviders(Mapping[str, Provider]):
    """The same providers by the same names."""

    def __init__(
        self, providers: Mapping[str, Provider], budget: Budget, *, holds_back: bool = True
    ) -> None:
        """Count what comes of each call, and hold calls back if ``holds_back``."""
        self._providers = providers
        self._budget = budget
        self._holds_back = holds_back

    @override
    def __getitem__(self, name: str) -> Provider:
        return GuardedProvider(self._providers[name], self._budget, holds_back=self._holds_back)

    @override
    def __iter__(self) -> Iterator[str]:
        return iter(self._providers)

    @override
    def __len__(self) -> int:
        return len(self._providers)


class GuardedProvider(Provider):
    """A provider behind its breaker."""

    def __init__(self, provider: Provider, budget: Budget, *, holds_back: bool) -> None:
        """Pass everything that is not held back on to ``provider``."""
        self._provider = provider
        self._budget = budget
        self._holds_back = holds_back

    @property
    @override
    def contract(self) -> ProviderContract:
        return self._provider.contract

    @override
    def compose(self, intent: Intent) -> dict[str, object]:
        return self._provider.compose(intent)

    @override
    def consequence(self, params: Mapping[str, object]) -> dict[str, Scalar]:
        return self._provider.consequence(params)

    @override
    def authority(self, bound: Mapping[str, Scalar], personal: Mapping[str, str]) -> Authority:
        self._admit()
        if self.contract.look_up is LookUp.NONE:
            # Authority over what cannot be looked up is read from another system.
            return self._provider.authority(bound, personal)
        with self._counted(bound):
            return self._provider.authority(bound, personal)

    @override
    def call(self, call: ProviderCall) -> ProviderRecord:
        with self._counted(call.bound):
            return self._provider.call(call)

    @override
    def look_up(self, call: ProviderCall) -> Findings:
        self._admit()
        with self._counted(call.bound):
            return self._provider.look_up(call)

    def _admit(self) -> None:
        if self._holds_back:
            self._budget.admit(self.contract)

    @contextmanager
    def _counted(self, bound: Mapping[str, Scalar]) -> Iterator[None]:
        try:
            yield
        except ProviderFault as fault:
            if counts_as_failure(fault.kind, fault.status):
                self._budget.failed(self.contract, bound)
            elif fault.kind is FaultKind.ANSWERED:
                self._budget.answered(self.contract)
            raise
        self._budget.answered(self.contract)


def _write(bound: Mapping[str, Scalar]) -> str:
    """Return what tells a write from others: a check of authority knows no effect yet."""
    return digest(bound).removeprefix("sha256:")[:WRITE_CHARACTERS]


def _tell(before: Breaker, after: Breaker) -> None:
    was_open, is_open = before.open_until_ms is not None, after.open_until_ms is not None
    if was_open != is_open:
        outcome = "open" if is_open else "closed"
        log("a breaker has changed", provider=after.provider, outcome=outcome)
