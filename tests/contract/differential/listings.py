"""The listings that are read in pages. A further one is one class here and one line in LISTINGS."""

from dataclasses import dataclass
from typing import NamedTuple, Protocol

from adapters.due_shards import due_shard
from ledger.inbox import review_place
from ledger.run import Run
from ledger.store import LedgerStore, ReviewPlace


class Page(NamedTuple):
    """Run ids in the order of the store, and what the store wants to be given for the next page."""

    run_ids: tuple[str, ...]
    cursor: object


class Listing(Protocol):
    """One listing with everything that selects its runs."""

    def page(self, store: LedgerStore, limit: int, cursor: object) -> Page:
        """Return a page behind the store's own ``cursor``, the first one for None."""

    def time_of(self, run: Run) -> int | None:
        """Return what the run is ordered by, None when it is not listed."""


@dataclass(frozen=True)
class Due:
    """The runs of a shard that are due."""

    shard: str
    now_ms: int

    def page(self, store: LedgerStore, limit: int, cursor: object) -> Page:
        """Return a page of what is due."""
        page = store.due(self.shard, self.now_ms, limit, cursor)  # type: ignore[arg-type]
        return Page(page.run_ids, page.cursor)

    def time_of(self, run: Run) -> int | None:
        """Return when the run is due."""
        due = run.due_at_ms is not None and run.due_at_ms <= self.now_ms
        return run.due_at_ms if due and due_shard(run.run_id) == self.shard else None


@dataclass(frozen=True)
class InReview:
    """The runs of a tenant that wait for a person, from the beginning or from behind a place."""

    tenant_id: str
    after: ReviewPlace | None = None

    def page(self, store: LedgerStore, limit: int, cursor: object) -> Page:
        """Return a page of what waits."""
        page = store.in_review(self.tenant_id, limit, cursor or self.after)  # type: ignore[arg-type]
        return Page(tuple(place.run_id for place in page.places), page.next)

    def time_of(self, run: Run) -> int | None:
        """Return since when the run waits."""
        place = review_place(run) if run.tenant_id == self.tenant_id else None
        return place.since_ms if place else None
