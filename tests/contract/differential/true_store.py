"""A store that passes everything on, for others to get one thing wrong."""

from ledger.event import Event
from ledger.run import PersonalFields, RunLedger
from ledger.store import Change, DuePage, LedgerStore, ReviewPage, ReviewPlace


class Tampered:
    """A store that is true to the contract; each divergence overrides what it gets wrong."""

    def __init__(self, store: LedgerStore) -> None:
        """Pass everything on to ``store``."""
        self._store = store

    @property
    def due_shards(self) -> tuple[str, ...]:
        """Pass on."""
        return self._store.due_shards

    def load(self, run_id: str) -> RunLedger | None:
        """Pass on."""
        return self._store.load(run_id)

    def commit(self, change: Change) -> None:
        """Pass on."""
        self._store.commit(change)

    def events(self, run_id: str, after_sequence: int, limit: int) -> tuple[Event, ...]:
        """Pass on."""
        return self._store.events(run_id, after_sequence, limit)

    def due(self, shard: str, now_ms: int, limit: int, cursor: str | None) -> DuePage:
        """Pass on."""
        return self._store.due(shard, now_ms, limit, cursor)

    def in_review(self, tenant_id: str, limit: int, after: ReviewPlace | None) -> ReviewPage:
        """Pass on."""
        return self._store.in_review(tenant_id, limit, after)

    def personal(self, run_id: str) -> PersonalFields | None:
        """Pass on."""
        return self._store.personal(run_id)

    def erase_personal(self, run_id: str) -> None:
        """Pass on."""
        self._store.erase_personal(run_id)

    def head(self, run_id: str) -> int:
        """Return the number of the run's newest event."""
        found = self._store.load(run_id)
        return found.run.sequence if found else 0
