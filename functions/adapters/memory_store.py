"""The ledger in memory, true to the same contract: for tests and simulations, not for keeping."""

import json
from dataclasses import dataclass, field
from threading import Lock

from adapters.change_check import check_change, check_limit
from adapters.due_shards import DUE_SHARDS, due_shard
from ledger.approval import Approval
from ledger.checkpoint import Checkpoint
from ledger.effect import Effect
from ledger.errors import LedgerMoved
from ledger.event import Event
from ledger.inbox import review_place
from ledger.record import Record
from ledger.run import PersonalFields, Run, RunLedger
from ledger.store import Change, DuePage, ReviewPage, ReviewPlace


@dataclass
class _Kept:
    """One run as JSON text, so that nothing is shared with who wrote or reads it."""

    run: str = ""
    due_at_ms: int | None = None
    waits: tuple[str, ReviewPlace] | None = None
    """The tenant and the place, while the run waits for a person."""

    effects: dict[str, str] = field(default_factory=dict)
    approvals: dict[str, str] = field(default_factory=dict)
    checkpoints: dict[str, str] = field(default_factory=dict)
    events: list[str] = field(default_factory=list)
    commit_ids: list[str] = field(default_factory=list)
    """Of each event, in the same order."""


class MemoryStore:
    """A ``ledger.store.LedgerStore`` that lives as long as the process."""

    def __init__(self) -> None:
        """Start empty."""
        self._lock = Lock()
        self._runs: dict[str, _Kept] = {}
        self._personal: dict[str, str | None] = {}
        """None marks what was erased."""

    @property
    def due_shards(self) -> tuple[str, ...]:
        """Return the shards over which due runs are spread."""
        return DUE_SHARDS

    def load(self, run_id: str) -> RunLedger | None:
        """Return the run without events or personal fields, None when there is none."""
        with self._lock:
            kept = self._runs.get(run_id)
            if kept is None:
                return None
            return RunLedger(
                run=Run.model_validate_json(kept.run),
                effects=_read(Effect, kept.effects),
                approvals=_read(Approval, kept.approvals),
                checkpoints=_read(Checkpoint, kept.checkpoints),
            )

    def commit(self, change: Change) -> None:
        """Write all of ``change`` or nothing; see ``LedgerStore.commit``."""
        check_change(change)
        run_id = change.run.run_id
        with self._lock:
            kept = self._runs.get(run_id, _Kept())
            at = change.expected_sequence
            if change.commit_id in kept.commit_ids[at : at + 1]:
                return  # our own write, whatever was written on top of it
            erased = change.personal is not None and self._personal.get(run_id, "") is None
            if len(kept.events) != at or erased:
                raise LedgerMoved(f"Run {run_id} is no longer at {at}; read it again.")
            self._runs[run_id] = kept
            _write(kept, change)
            if change.personal is not None:
                self._personal[run_id] = change.personal.model_dump_json()

    def events(self, run_id: str, after_sequence: int, limit: int) -> tuple[Event, ...]:
        """Return at most ``limit`` events after ``after_sequence``, gapless and in order."""
        check_limit(limit)
        first = max(0, after_sequence)
        with self._lock:
            kept = self._runs.get(run_id, _Kept())
            found = kept.events[first : first + limit]
        return tuple(Event.model_validate_json(text) for text in found)

    def due(self, shard: str, now_ms: int, limit: int, cursor: str | None) -> DuePage:
        """Return a page of nominated runs, longest due first."""
        check_limit(limit)
        after = tuple(json.loads(cursor)) if cursor is not None else None
        with self._lock:
            entries = sorted(
                (kept.due_at_ms, run_id)
                for run_id, kept in self._runs.items()
                if kept.due_at_ms is not None
                and kept.due_at_ms <= now_ms
                and due_shard(run_id) == shard
            )
        left = [entry for entry in entries if after is None or entry > after]
        page = left[:limit]
        return DuePage(
            run_ids=tuple(run_id for _, run_id in page),
            cursor=json.dumps(page[-1]) if len(left) > limit else None,
        )

    def in_review(self, tenant_id: str, limit: int, after: ReviewPlace | None) -> ReviewPage:
        """Return a page of a tenant's nominated runs, longest waiting first."""
        check_limit(limit)
        with self._lock:
            waiting = [kept.waits for kept in self._runs.values() if kept.waits is not None]
        places = sorted((place for tenant, place in waiting if tenant == tenant_id), key=_order)
        left = [place for place in places if after is None or _order(place) > _order(after)]
        page = tuple(left[:limit])
        return ReviewPage(places=page, next=page[-1] if len(left) > limit else None)

    def personal(self, run_id: str) -> PersonalFields | None:
        """Return the run's personal fields, None when absent or erased."""
        with self._lock:
            text = self._personal.get(run_id)
        return None if text is None else PersonalFields.model_validate_json(text)

    def erase_personal(self, run_id: str) -> None:
        """Replace the run's personal fields by a mark that no later change replaces."""
        with self._lock:
            self._personal[run_id] = None


def _write(kept: _Kept, change: Change) -> None:
    kept.run = change.run.model_dump_json()
    kept.due_at_ms = change.run.due_at_ms
    waits = review_place(change.run)
    kept.waits = (change.run.tenant_id, waits) if waits else None
    kept.effects |= {found.effect_id: found.model_dump_json() for found in change.effects}
    kept.approvals |= {found.approval_id: found.model_dump_json() for found in change.approvals}
    kept.checkpoints |= {found.name: found.model_dump_json() for found in change.checkpoints}
    kept.events += [event.model_dump_json() for event in change.events]
    kept.commit_ids += [event.commit_id for event in change.events]


def _order(place: ReviewPlace) -> tuple[int, str]:
    return place.since_ms, place.run_id


def _read[T: Record](kind: type[T], kept: dict[str, str]) -> tuple[T, ...]:
    return tuple(kind.model_validate_json(kept[key]) for key in sorted(kept))
