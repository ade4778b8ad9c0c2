"""The ledger in memory without its JSON: records are frozen, so they may be shared.

It stands the contract and the differential tests of the stores, but for the limits of size, which
it does not measure. One seed in 64 runs over ``adapters.memory_store.MemoryStore`` instead, which
measures them and shares nothing.
"""

import json
from collections.abc import Callable
from operator import attrgetter

from adapters.change_check import check_form, check_limit
from adapters.due_shards import DUE_SHARDS, due_shard
from ledger.errors import LedgerMoved
from ledger.event import Event
from ledger.inbox import review_place
from ledger.record import Record
from ledger.run import PersonalFields, RunLedger
from ledger.store import Change, DuePage, ReviewPage, ReviewPlace

_EFFECT_ID = attrgetter("effect_id")
_APPROVAL_ID = attrgetter("approval_id")
_NAME = attrgetter("name")
_NOTHING_DUE = DuePage(run_ids=(), cursor=None)


class SharedStore:
    """A ``ledger.store.LedgerStore``."""

    def __init__(self) -> None:
        """Start empty."""
        self._runs: dict[str, RunLedger] = {}
        self._events: dict[str, list[Event]] = {}
        self._personal: dict[str, PersonalFields | None] = {}
        self._shards: dict[str, str] = {}

    @property
    def due_shards(self) -> tuple[str, ...]:
        """Return the shards over which due runs are spread."""
        return DUE_SHARDS

    def load(self, run_id: str) -> RunLedger | None:
        """Return the run, None when there is none."""
        return self._runs.get(run_id)

    def commit(self, change: Change) -> None:
        """Write all of ``change`` or nothing; see ``LedgerStore.commit``."""
        run_id, at = change.run.run_id, change.expected_sequence
        events = self._events.get(run_id, [])
        check_form(change)
        if len(events) > at and events[at].commit_id == change.commit_id:
            return
        erased = change.personal is not None and self._personal.get(run_id, ...) is None
        if len(events) != at or erased:
            raise LedgerMoved(f"Run {run_id} is no longer at {at}; read it again.")
        if not events:
            self._shards[run_id] = due_shard(run_id)
        self._runs[run_id] = _applied(self._runs.get(run_id), change)
        self._events.setdefault(run_id, events).extend(change.events)
        if change.personal is not None:
            self._personal[run_id] = change.personal

    def events(self, run_id: str, after_sequence: int, limit: int) -> tuple[Event, ...]:
        """Return at most ``limit`` events after ``after_sequence``."""
        check_limit(limit)
        first = max(0, after_sequence)
        return tuple(self._events.get(run_id, [])[first : first + limit])

    def due(self, shard: str, now_ms: int, limit: int, cursor: str | None) -> DuePage:
        """Return a page of nominated runs, longest due first."""
        check_limit(limit)
        after = tuple(json.loads(cursor)) if cursor is not None else None
        entries = sorted(
            (ledger.run.due_at_ms, run_id)
            for run_id, ledger in self._runs.items()
            if ledger.run.due_at_ms is not None
            and ledger.run.due_at_ms <= now_ms
            and self._shards[run_id] == shard
        )
        if not entries:
            return _NOTHING_DUE
        left = [entry for entry in entries if after is None or entry > after]
        return DuePage(
            run_ids=tuple(run_id for _, run_id in left[:limit]),
            cursor=json.dumps(left[limit - 1]) if len(left) > limit else None,
        )

    def in_review(self, tenant_id: str, limit: int, after: ReviewPlace | None) -> ReviewPage:
        """Return a page of a tenant's runs that wait for a person."""
        check_limit(limit)
        owned = [found.run for found in self._runs.values() if found.run.tenant_id == tenant_id]
        waiting = sorted(filter(None, map(review_place, owned)), key=_order)
        left = [place for place in waiting if after is None or _order(place) > _order(after)]
        page = tuple(left[:limit])
        return ReviewPage(places=page, next=page[-1] if len(left) > limit else None)

    def personal(self, run_id: str) -> PersonalFields | None:
        """Return the run's personal fields, None when absent or erased."""
        return self._personal.get(run_id)

    def erase_personal(self, run_id: str) -> None:
        """Erase the run's personal fields."""
        self._personal[run_id] = None


def _order(place: ReviewPlace) -> tuple[int, str]:
    return place.since_ms, place.run_id


def _applied(before: RunLedger | None, change: Change) -> RunLedger:
    known = before or RunLedger(run=change.run)
    return RunLedger(
        run=change.run,
        effects=_with(known.effects, change.effects, _EFFECT_ID),
        approvals=_with(known.approvals, change.approvals, _APPROVAL_ID),
        checkpoints=_with(known.checkpoints, change.checkpoints, _NAME),
    )


def _with[T: Record](
    known: tuple[T, ...], changed: tuple[T, ...], name_of: Callable[[T], str]
) -> tuple[T, ...]:
    """Return the records in the order of their names, as a table returns them."""
    if not changed:
        return known
    found = {name_of(record): record for record in (*known, *changed)}
    return tuple(found[name] for name in sorted(found))
