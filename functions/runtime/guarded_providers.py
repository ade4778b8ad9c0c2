"""Providers behind their breakers: one that fails everybody is left alone for a while.

Held back are reads, and the check of authority, which comes before a claim: what is held back was
not begun, and is answered like a provider that could not be reached. A write is never held back:
its claim is on record, and its authority was read a moment ago. What a person asks for by hand is
not held back either: one look hammers nobody, and is wanted most while a provider fails. Every
outcome counts, theirs too.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import override

from ledger.breaker import counts_as_failure
from ledger.contract import FaultKind, LookUp
from ledger.provider import Authority, Provider, ProviderFault
from ledger.record import Scalar
from runtime.breaker_budget import Budget
from runtime.passing_providers import PassingProvider, PassingProviders


class GuardedProviders(PassingProviders):
    """The same providers by the same names, each behind its breaker."""

    def __init__(
        self, providers: Mapping[str, Provider], budget: Budget, *, holds_back: bool = True
    ) -> None:
        """Count what comes of each call, and hold calls back if ``holds_back``."""
        super().__init__(providers, partial(GuardedProvider, budget=budget, holds_back=holds_back))


class GuardedProvider(PassingProvider):
    """A provider behind its breaker."""

    def __init__(self, provider: Provider, budget: Budget, *, holds_back: bool) -> None:
        """Pass everything that is not held back on to ``provider``."""
        super().__init__(provider)
        self._budget = budget
        self._holds_back = holds_back

    @override
    def authority(self, bound: Mapping[str, Scalar], personal: Mapping[str, str]) -> Authority:
        if self.contract.look_up is LookUp.NONE:
            # Authority over what cannot be looked up is read from another system.
            self._before_read()
            return self._provider.authority(bound, personal)
        return super().authority(bound, personal)

    @override
    def _before_read(self) -> None:
        if self._holds_back:
            self._budget.admit(self.contract)

    @override
    @contextmanager
    def _around(self, bound: Mapping[str, Scalar]) -> Iterator[None]:
        try:
            yield
        except ProviderFault as fault:
            if counts_as_failure(fault.kind, fault.status):
                self._budget.failed(self.contract, bound)
            elif fault.kind is FaultKind.ANSWERED:
                self._budget.answered(self.contract)
            raise
        self._budget.answered(self.contract)
