"""Providers, measured at the edge: what their contracts say of the faults that are met."""

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import override

from ledger.audit import Audited, MarkedPage
from ledger.contract import ProviderContract
from ledger.provider import Provider, ProviderFault
from ledger.record import Scalar
from runtime.metric_names import PROVIDER_ERRORS
from runtime.metrics import measure
from runtime.passing_providers import PassingProvider, PassingProviders


class MeasuredProviders(PassingProviders):
    """The same providers by the same names, each measured."""

    def __init__(self, providers: Mapping[str, Provider]) -> None:
        """Make nothing yet: a provider is asked for when it is."""
        super().__init__(providers, MeasuredProvider)


class MeasuredProvider(PassingProvider):
    """A provider whose faults are counted by class, and raised on as they are."""

    @override
    def _around(self, bound: Mapping[str, Scalar]) -> AbstractContextManager[None]:
        return _faults_counted(self.contract)


class MeasuredAudit:
    """An audited provider whose faults are counted as those of any other call."""

    def __init__(self, contract: ProviderContract, provider: Audited) -> None:
        """Pass everything on to ``provider``."""
        self._contract = contract
        self._provider = provider

    def marked_since(self, since_ms: int, after: str | None) -> MarkedPage:
        """Return what the provider returns. Raises ProviderFault."""
        with _faults_counted(self._contract):
            return self._provider.marked_since(since_ms, after)


@contextmanager
def _faults_counted(contract: ProviderContract) -> Iterator[None]:
    """Count a fault by what the contract says that it means."""
    try:
        yield
    except ProviderFault as fault:
        error_class = contract.classify(fault.kind, fault.status, fault.code)
        measure(PROVIDER_ERRORS, 1, provider=contract.provider, error_class=error_class)
        raise
