"""What the domain asks of a store: one transaction for state and event, and honest reads."""

from dataclasses import dataclass
from typing import Protocol

from ledger.approval import Approval
from ledger.checkpoint import Checkpoint
from ledger.effect import Effect
from ledger.event import Event
from ledger.record import Record
from ledger.run import PersonalFields, Run, RunLedger


@dataclass(frozen=True, kw_only=True, slots=True)
class Change:
    """One transaction: the new head, the records that changed, and at least one event.

    ``events`` are numbered ``expected_sequence + 1`` and on; ``run.sequence`` is the last of them.
    """

    commit_id: str
    expected_sequence: int
    run: Run
    effects: tuple[Effect, ...] = ()
    approvals: tuple[Approval, ...] = ()
    checkpoints: tuple[Checkpoint, ...] = ()
    events: tuple[Event, ...]
    personal: PersonalFields | None = None


class DuePage(Record):
    """Nominated run ids, and where to go on (None at the end of the shard)."""

    run_ids: tuple[str, ...]
    cursor: str | None


class ReviewPlace(Record):
    """Where a run stands among those of its tenant that wait for a person."""

    since_ms: int
    """When its review began."""

    run_id: str


class ReviewPage(Record):
    """Nominated runs, longest waiting first, and after which to go on (None at the end)."""

    places: tuple[ReviewPlace, ...]
    next: ReviewPlace | None


class LedgerStore(Protocol):
    """Ledger storage. Every adapter passes one contract test suite."""

    @property
    def due_shards(self) -> tuple[str, ...]:
        """Return the shards over which due runs are spread."""

    def load(self, run_id: str) -> RunLedger | None:
        """Return the run by a strongly consistent read, None when there is none.

        Raises LedgerUnavailable.
        """

    def commit(self, change: Change) -> None:
        """Write all of ``change`` or nothing.

        Succeeds when the same change (by ``commit_id``) has landed already: a writer whose answer
        was lost repeats its write. ``expected_sequence`` 0 creates the run.

        Raises:
            LedgerMoved: another change was written first, or ``personal`` was erased meanwhile;
                nothing of this one was written.
            InvariantBroken: the change could never be stored: too large, or inconsistent.
            LedgerUnavailable: no answer within the bounded retries; it may have landed.
        """

    def events(self, run_id: str, after_sequence: int, limit: int) -> tuple[Event, ...]:
        """Return at most ``limit`` events with a larger sequence, in order, consistently read."""

    def due(self, shard: str, now_ms: int, limit: int, cursor: str | None) -> DuePage:
        """Return a page of runs whose ``due_at_ms`` is not after ``now_ms``, longest due first.

        The answer may be stale: it nominates, the caller reads and claims.
        """

    def in_review(self, tenant_id: str, limit: int, after: ReviewPlace | None) -> ReviewPage:
        """Return a page of a tenant's runs that wait for a person, behind the place ``after``.

        The answer may be stale: it nominates, the caller reads each run for what it says. A place
        comes from a caller, so any is taken; one that names no run is a place all the same.
        """

    def personal(self, run_id: str) -> PersonalFields | None:
        """Return the run's personal fields, None when absent or erased."""

    def erase_personal(self, run_id: str) -> None:
        """Erase the run's personal fields. Repeating it is harmless."""
