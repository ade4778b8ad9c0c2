"""What is asked of every store, and the answer in a form that can be compared to the letter."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import cycle, groupby
from typing import Protocol

from pydantic_core import to_jsonable_python

from ledger.errors import LedgerError
from ledger.record import Record
from ledger.run import RunLedger
from ledger.store import Change, LedgerStore
from tests.contract.differential.listings import Listing

MAX_PAGES = 400  # more than the runs and events of any script, read one by one

BROKE = "broke"
RAISED = "raised"

type Answer = tuple[object, ...]


@dataclass
class Side:
    """One of the stores, with the cursors that it has given out."""

    store: LedgerStore
    ten_minutes_pass: Callable[[], None]
    cursors: dict[Listing, object] = field(default_factory=dict)


class Call(Protocol):
    """One question, the same for every store."""

    def ask(self, side: Side) -> Answer:
        """Return the answer. Raises LedgerError as the store does."""


def answer(call: Call, side: Side) -> Answer:
    """Return what the store answers; an error of the contract is an answer, too."""
    try:
        return call.ask(side)
    except LedgerError as error:
        return (RAISED, type(error).__name__)
    except Exception as error:  # noqa: BLE001  whatever it is, the contract does not know it
        return (BROKE, repr(error))


def text_of(found: RunLedger | Record | None) -> str | None:
    """Return what was read as text: ``1`` and ``true`` differ, the order of names does not."""
    if found is None:
        return None
    return json.dumps(to_jsonable_python(found), sort_keys=True, ensure_ascii=False)


@dataclass(frozen=True)
class Write:
    """Commit a change."""

    change: Change
    late: bool = False
    """Whether the store has had the time to forget what it need not remember."""

    def ask(self, side: Side) -> Answer:
        """Return that it was accepted."""
        if self.late:
            side.ten_minutes_pass()
        side.store.commit(self.change)
        return ("written",)

    def __repr__(self) -> str:
        """Return the change in short: its records are in the operation."""
        change = self.change
        return (
            f"Write({change.run.run_id!r}, {change.commit_id!r} on {change.expected_sequence},"
            f" {len(change.events)} events)"
        )


@dataclass(frozen=True)
class Load:
    """Load a run."""

    run_id: str

    def ask(self, side: Side) -> Answer:
        """Return the run with its records."""
        return ("loaded", text_of(side.store.load(self.run_id)))


@dataclass(frozen=True)
class Events:
    """Read one page of the trail."""

    run_id: str
    after_sequence: int
    limit: int

    def ask(self, side: Side) -> Answer:
        """Return the events in the store's order."""
        found = side.store.events(self.run_id, self.after_sequence, self.limit)
        return ("events", *map(text_of, found))


@dataclass(frozen=True)
class Trail:
    """Read the whole trail in pages of several sizes."""

    run_id: str
    limits: tuple[int, ...]

    def ask(self, side: Side) -> Answer:
        """Return the events of all pages."""
        found: list[str | None] = []
        for _, limit in zip(range(MAX_PAGES), cycle(self.limits), strict=False):
            page = side.store.events(self.run_id, len(found), limit)
            found += map(text_of, page)
            if len(page) < limit:
                return ("trail", *found)
        return ("trail without an end",)


@dataclass(frozen=True)
class Personal:
    """Read the personal fields."""

    run_id: str

    def ask(self, side: Side) -> Answer:
        """Return the fields."""
        return ("personal", text_of(side.store.personal(self.run_id)))


@dataclass(frozen=True)
class Erase:
    """Erase the personal fields."""

    run_id: str

    def ask(self, side: Side) -> Answer:
        """Return that it was done."""
        side.store.erase_personal(self.run_id)
        return ("erased",)


@dataclass(frozen=True)
class ReadAll:
    """Read a listing to its end in pages of several sizes."""

    listing: Listing
    limits: tuple[int, ...]
    times: Mapping[str, int] = field(repr=False)
    """When each run is listed. Runs of one time have no order among them, on AWS least of all."""

    def ask(self, side: Side) -> Answer:
        """Return the run ids, those of one time in one group."""
        found: list[str] = []
        cursor: object = None
        for _, limit in zip(range(MAX_PAGES), cycle(self.limits), strict=False):
            page = self.listing.page(side.store, limit, cursor)
            if len(page.run_ids) > limit:
                return ("page beyond its limit",)
            found += page.run_ids
            cursor = page.cursor
            if cursor is None:
                return ("listed", *self._groups(found))
        return ("listing without an end",)

    def _groups(self, run_ids: list[str]) -> Iterator[tuple[str, ...]]:
        for _, group in groupby(run_ids, self.times.get):
            yield tuple(sorted(group))


@dataclass(frozen=True)
class ReadOn:
    """Read the next page of a listing that was begun earlier; writers may have been busy since."""

    listing: Listing
    limit: int
    begins: bool
    comparable: bool

    def ask(self, side: Side) -> Answer:
        """Return the page, and whether it is the last: an empty page behind it is no page."""
        if not self.comparable:
            side.cursors.pop(self.listing, None)
            return ("page of ties", "last")
        cursor = None if self.begins else side.cursors[self.listing]
        page = self.listing.page(side.store, self.limit, cursor)
        side.cursors[self.listing] = page.cursor
        return ("page", *page.run_ids, "more" if self._goes_on(side, page.cursor) else "last")

    def _goes_on(self, side: Side, cursor: object) -> bool:
        return cursor is not None and bool(self.listing.page(side.store, 1, cursor).run_ids)
