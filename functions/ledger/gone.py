"""A provider that is on record in a run and no longer registered: nobody can call it or ask it.

For those who look at a run and decide about it. Whoever would read or write goes on without: there
a provider that is gone must break the read, and never pass for one that cannot be asked.
"""

from collections.abc import Mapping

from ledger.contract import Consistency, LookUp, ProviderContract
from ledger.provider import Provider


class GoneContract(ProviderContract):
    """What is left of a contract once its provider is gone: it promises nothing."""


def gone_contract(name: str) -> GoneContract:
    """Return the contract of a provider that is not registered: no look-up, no proof, no replay."""
    return GoneContract(
        provider=name,
        needs=frozenset(),
        # A contract has to name both, and nothing is ever called or planned under this one.
        call_timeout_seconds=1,
        recovery_deadline_seconds=1,
        key_lifetime_seconds=None,
        look_up=LookUp.NONE,
        look_up_consistency=Consistency.EVENTUAL,
        settle_window_seconds=0,
        absence_reads=0,
        replay_after_absence=False,
        confirmed_by_read=False,
        max_attempts=0,
        errors=(),
    )


def is_gone(contract: ProviderContract) -> bool:
    """Return whether the contract is that of a provider that is not registered."""
    return isinstance(contract, GoneContract)


def contract_of(providers: Mapping[str, Provider], name: str) -> ProviderContract:
    """Return a provider's contract, also of one that is not among ``providers`` any more."""
    return providers[name].contract if name in providers else gone_contract(name)
