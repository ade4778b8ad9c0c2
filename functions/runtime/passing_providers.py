"""Providers that pass everything on to others: what is added on the way, a subclass says."""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from typing import override

from ledger.contract import ProviderContract
from ledger.provider import Authority, Findings, Intent, Provider, ProviderCall, ProviderRecord
from ledger.record import Scalar


class PassingProviders(Mapping[str, Provider]):
    """The same providers by the same names, each wrapped when it is asked for."""

    def __init__(
        self, providers: Mapping[str, Provider], wrapped: Callable[[Provider], Provider]
    ) -> None:
        """Ask for no provider yet: one is made when it is asked for."""
        self._providers = providers
        self._wrapped = wrapped

    @override
    def __getitem__(self, name: str) -> Provider:
        return self._wrapped(self._providers[name])

    @override
    def __iter__(self) -> Iterator[str]:
        return iter(self._providers)

    @override
    def __len__(self) -> int:
        return len(self._providers)


class PassingProvider(Provider):
    """A provider that adds something to each call of another, and nothing to what is pure."""

    def __init__(self, provider: Provider) -> None:
        """Pass everything on to ``provider``."""
        self._provider = provider

    @abstractmethod
    def _around(self, bound: Mapping[str, Scalar]) -> AbstractContextManager[None]:
        """Return what surrounds a call that is made for the write with these bound fields."""

    def _before_read(self) -> None:
        """Do what precedes a read, outside of what surrounds it. Raises ProviderFault."""

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
        self._before_read()
        with self._around(bound):
            return self._provider.authority(bound, personal)

    @override
    def call(self, call: ProviderCall) -> ProviderRecord:
        with self._around(call.bound):
            return self._provider.call(call)

    @override
    def look_up(self, call: ProviderCall) -> Findings:
        self._before_read()
        with self._around(call.bound):
            return self._provider.look_up(call)
