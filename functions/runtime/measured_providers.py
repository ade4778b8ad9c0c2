"""Providers, measured at the edge: what their contracts say of the faults that are met."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import override

from ledger.contract import ProviderContract
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
from runtime.metric_names import PROVIDER_ERRORS
from runtime.metrics import measure


class MeasuredProviders(Mapping[str, Provider]):
    """The same providers by the same names."""

    def __init__(self, providers: Mapping[str, Provider]) -> None:
        """Make nothing yet: a provider is asked for when it is."""
        self._providers = providers

    @override
    def __getitem__(self, name: str) -> Provider:
        return MeasuredProvider(self._providers[name])

    @override
    def __iter__(self) -> Iterator[str]:
        return iter(self._providers)

    @override
    def __len__(self) -> int:
        return len(self._providers)


class MeasuredProvider(Provider):
    """A provider whose faults are counted by class, and raised on as they are."""

    def __init__(self, provider: Provider) -> None:
        """Pass everything on to ``provider``."""
        self._provider = provider

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
        with faults_counted(self.contract):
            return self._provider.authority(bound, personal)

    @override
    def call(self, call: ProviderCall) -> ProviderRecord:
        with faults_counted(self.contract):
            return self._provider.call(call)

    @override
    def look_up(self, call: ProviderCall) -> Findings:
        with faults_counted(self.contract):
            return self._provider.look_up(call)


@contextmanager
def faults_counted(contract: ProviderContract) -> Iterator[None]:
    """Count a fault by what the contract says that it means."""
    try:
        yield
    except ProviderFault as fault:
        error_class = contract.classify(fault.kind, fault.status, fault.code)
        measure(PROVIDER_ERRORS, 1, provider=contract.provider, error_class=error_class)
        raise
