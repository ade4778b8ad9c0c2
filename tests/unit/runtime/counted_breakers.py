"""Breakers whose reads and writes are counted, and may fail."""

from dataclasses import dataclass, field

from adapters.memory_breakers import MemoryBreakers
from ledger.breaker import Breaker
from ledger.errors import LedgerUnavailable


@dataclass
class CountedBreakers:
    """Breakers in memory that are told when to give no answer."""

    inner: MemoryBreakers = field(default_factory=MemoryBreakers)
    loads: int = 0
    saves: int = 0
    failure: LedgerUnavailable | None = None

    def load(self, provider: str) -> Breaker | None:
        self.loads += 1
        if self.failure:
            raise self.failure
        return self.inner.load(provider)

    def save(self, breaker: Breaker) -> bool:
        self.saves += 1
        if self.failure:
            raise self.failure
        return self.inner.save(breaker)
