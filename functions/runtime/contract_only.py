"""A provider that a function may judge by its contract but was not given the means to call."""

from collections.abc import Mapping
from typing import NoReturn, override

from ledger.contract import ProviderContract
from ledger.errors import InvariantBroken
from ledger.provider import Authority, Findings, Intent, Provider, ProviderCall, ProviderRecord
from ledger.record import Scalar


class ContractOnly(Provider):
    """A view needs every provider's contract, and must never be able to call one."""

    def __init__(self, contract: ProviderContract) -> None:
        """Hold the contract."""
        self._contract = contract

    @property
    @override
    def contract(self) -> ProviderContract:
        return self._contract

    @override
    def compose(self, intent: Intent) -> dict[str, object]:
        self._refuse()

    @override
    def consequence(self, params: Mapping[str, object]) -> dict[str, Scalar]:
        self._refuse()

    @override
    def authority(self, bound: Mapping[str, Scalar], personal: Mapping[str, str]) -> Authority:
        self._refuse()

    @override
    def call(self, call: ProviderCall) -> ProviderRecord:
        self._refuse()

    @override
    def look_up(self, call: ProviderCall) -> Findings:
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise InvariantBroken(f"This function was not deployed to call {self._contract.provider}.")
