"""The operations of a script: small choices that become calls when it is known what is stored.

A further one is a class here and a line in ``scripts.operations``.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Protocol

from adapters.change_check import MAX_RECORD_BYTES
from ledger.run import PersonalFields
from ledger.store import Change
from ledger.transitions import RunState
from tests.builders import NOW_MS, a_change, a_run, an_event, personal_fields
from tests.contract.differential.book import Book, OpenWalk
from tests.contract.differential.brief import Brief
from tests.contract.differential.calls import Call, Load, ReadAll, ReadOn, Write
from tests.contract.differential.flaws import Flaw, made_into
from tests.contract.differential.listings import Listing
from tests.contract.differential.records import Filling, Kind, Plan
from tests.contract.differential.sizes import grown


class Operation(Protocol):
    """One step of a script."""

    def call(self, book: Book) -> Call:
        """Return what to ask now."""


@dataclass(frozen=True)
class Ask:
    """A call that is the same whatever is stored."""

    asked: Call

    def call(self, book: Book) -> Call:
        """Return the call."""
        book.touch(getattr(self.asked, "run_id", None))
        return self.asked


class At(StrEnum):
    """Where a writer believes the run to be."""

    HEAD = "head"
    BEHIND = "behind"
    AHEAD = "ahead"
    NEW = "new"
    BELOW_ZERO = "below zero"


class Grown(StrEnum):
    """Which record is brought near the limit of its size."""

    NONE = "none"
    RUN = "run"
    EVENT = "event"
    EFFECT = "effect"
    PERSONAL = "personal"


@dataclass(frozen=True, repr=False)
class Head(Brief):
    """What the change leaves in the run's head."""

    tenant_id: str
    state: RunState = RunState.ACTIVE
    due_at_ms: int | None = NOW_MS
    review_since_ms: int | None = None


@dataclass(frozen=True, repr=False)
class Commit(Brief):
    """Commit a new change."""

    run_id: str
    head: Head
    filling: Filling
    """Of the head, the events and the personal fields."""

    at: At = At.HEAD
    event_count: int = 1
    plans: tuple[Plan, ...] = ()
    personal: bool = False
    commit_id: str | int | None = None
    """None is a new one, a number the id of an earlier change of the run."""

    grown: Grown = Grown.NONE
    beyond_bytes: int = 0
    """How far the grown record is beyond the limit."""

    flaw: Flaw = Flaw.NONE

    def call(self, book: Book) -> Call:
        """Return the write."""
        book.touch(self.run_id)
        change = made_into(self.flaw, self._grown(self._change(book)))
        book.sent.append(change)
        return Write(change)

    def _change(self, book: Book) -> Change:
        commit_id = self._commit_id(book)
        expected = self._expected(book.sequence_of(self.run_id))
        events = tuple(
            an_event(
                run_id=self.run_id,
                sequence=expected + number,
                commit_id=commit_id,
                reason=self.filling.text,
                details=self.filling.fields,
                **self.filling.extra,
            )
            for number in range(1, self.event_count + 1)
        )
        return a_change(
            commit_id,
            expected,
            self.event_count,
            run=self._run(),
            events=events,
            effects=self._records(Kind.EFFECT),
            approvals=self._records(Kind.APPROVAL),
            checkpoints=self._records(Kind.CHECKPOINT),
            personal=self._personal(),
        )

    def _commit_id(self, book: Book) -> str:
        if isinstance(self.commit_id, str):
            return self.commit_id
        earlier = [change for change in book.sent if change.run.run_id == self.run_id]
        if self.commit_id is None or not earlier:
            return f"commit-{len(book.sent)}"
        return earlier[-1 - self.commit_id % len(earlier)].commit_id

    def _expected(self, head: int) -> int:
        return {
            At.HEAD: head,
            At.BEHIND: max(0, head - 1),
            At.AHEAD: head + 1,
            At.NEW: 0,
            At.BELOW_ZERO: -2,
        }[self.at]

    def _run(self) -> Any:
        return a_run(
            run_id=self.run_id,
            tenant_id=self.head.tenant_id,
            state=self.head.state,
            due_at_ms=self.head.due_at_ms,
            review_since_ms=self.head.review_since_ms,
            request=self.filling.fields,
            review_reason=self.filling.text,
            **self.filling.extra,
        )

    def _records(self, kind: Kind) -> tuple[Any, ...]:
        made = {plan.name: plan.record() for plan in self.plans if plan.kind is kind}
        return tuple(made.values())

    def _personal(self) -> PersonalFields | None:
        if not self.personal:
            return None
        fields = {"email": self.filling.text, f"named {self.filling.text}": ""}
        return personal_fields(run_id=self.run_id, fields=fields, **self.filling.extra)

    def _grown(self, change: Change) -> Change:
        size_bytes = MAX_RECORD_BYTES + self.beyond_bytes
        update: Mapping[str, Any] = {}
        match self.grown:
            case Grown.RUN:
                update = {"run": grown(change.run, size_bytes)}
            case Grown.EVENT:
                update = {"events": (grown(change.events[0], size_bytes), *change.events[1:])}
            case Grown.EFFECT if change.effects:
                update = {"effects": (grown(change.effects[0], size_bytes), *change.effects[1:])}
            case Grown.PERSONAL if change.personal:
                update = {"personal": grown(change.personal, size_bytes)}
        return replace(change, **update)


@dataclass(frozen=True)
class Repeat:
    """Commit an earlier change once more, as a writer does whose answer was lost."""

    back: int
    """How many changes ago it was sent; 0 is the newest."""

    late: bool = False

    def call(self, book: Book) -> Call:
        """Return the same write."""
        if not book.sent:
            return Load("nothing was sent yet")
        return Write(book.sent[-1 - self.back % len(book.sent)], self.late)


@dataclass(frozen=True)
class List:
    """Read a listing to its end."""

    listing: Listing
    limits: tuple[int, ...]

    def call(self, book: Book) -> Call:
        """Return the reading, with what runs are ordered by."""
        return ReadAll(self.listing, self.limits, book.times(self.listing.time_of))


@dataclass(frozen=True)
class TurnPage:
    """Read one page more of a listing, the first one when none is open."""

    listing: Listing
    limit: int

    def call(self, book: Book) -> Call:
        """Return the reading of the page."""
        begins = self.listing not in book.walks
        walk = book.walks.setdefault(
            self.listing, OpenWalk(self.listing.time_of, book.ties(self.listing.time_of))
        )
        return ReadOn(self.listing, self.limit, begins, comparable=not walk.tied)
