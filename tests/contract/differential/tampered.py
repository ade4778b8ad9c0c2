"""Divergences that are planted on purpose: what is planted must be found."""

import unicodedata

from adapters.change_check import MAX_RECORD_BYTES
from ledger.effect import Effect
from ledger.errors import InvariantBroken, LedgerMoved
from ledger.event import Event
from ledger.run import PersonalFields, RunLedger
from ledger.store import Change, DuePage, LedgerStore, ReviewPage, ReviewPlace
from tests.contract.differential.sizes import stored_bytes
from tests.contract.differential.true_store import Tampered

EVERYTHING = 1_000


class ForgetsRepeats(Tampered):
    """Knows its own write only while nobody has written on top of it."""

    def commit(self, change: Change) -> None:
        """Refuse what lies below the head."""
        self._store.commit(change)
        if change.run.sequence < self.head(change.run.run_id):
            raise LedgerMoved


class KnowsCommitIdsAnywhere(Tampered):
    """Takes a change for a repeat wherever its commit id was written."""

    def commit(self, change: Change) -> None:
        """Accept any change of a known id."""
        try:
            self._store.commit(change)
        except LedgerMoved:
            known = self._store.events(change.run.run_id, 0, EVERYTHING)
            if change.commit_id not in {event.commit_id for event in known}:
                raise


class WritesOverTheFuture(Tampered):
    """Accepts a change that expects events which are not there."""

    def commit(self, change: Change) -> None:
        """Accept it and write nothing."""
        try:
            self._store.commit(change)
        except LedgerMoved:
            if change.expected_sequence <= self.head(change.run.run_id):
                raise


class RaisesThePersonalDead(Tampered):
    """Lets a late change bring erased fields back."""

    def __init__(self, store: LedgerStore) -> None:
        """Have erased nothing."""
        super().__init__(store)
        self._erased: set[str] = set()

    def commit(self, change: Change) -> None:
        """Forget that the fields were erased."""
        self._store.commit(change)
        if change.personal is not None:
            self._erased.discard(change.run.run_id)

    def personal(self, run_id: str) -> PersonalFields | None:
        """Return what was written last."""
        return None if run_id in self._erased else self._store.personal(run_id)

    def erase_personal(self, run_id: str) -> None:
        """Only remember to hide the fields."""
        self._erased.add(run_id)


class ErasesOnlyWhatIsThere(Tampered):
    """Leaves no mark where there is nothing to erase."""

    def erase_personal(self, run_id: str) -> None:
        """Erase fields, if any."""
        if self._store.personal(run_id) is not None:
            self._store.erase_personal(run_id)


class DropsNewerFields(Tampered):
    """Writes the fields that it knows."""

    def load(self, run_id: str) -> RunLedger | None:
        """Return the effects without what newer code has written."""
        found = self._store.load(run_id)
        return found and found._replace(effects=tuple(map(_known, found.effects)))


class ComposesText(Tampered):
    """Writes text in Unicode's composed form."""

    def personal(self, run_id: str) -> PersonalFields | None:
        """Return composed text."""
        found = self._store.personal(run_id)
        if found is None:
            return None
        text = unicodedata.normalize("NFC", found.model_dump_json())
        return PersonalFields.model_validate_json(text)


class ForgetsCase(Tampered):
    """Takes ids that differ in case for one."""

    def load(self, run_id: str) -> RunLedger | None:
        """Return the run of the id in small letters."""
        return self._store.load(run_id.lower())


class RoundsNumbers(Tampered):
    """Keeps numbers as floats."""

    def events(self, run_id: str, after_sequence: int, limit: int) -> tuple[Event, ...]:
        """Return rounded details."""
        return tuple(
            found.model_copy(update={"details": {**found.details, "number": rounded}})
            for found in self._store.events(run_id, after_sequence, limit)
            for rounded in [int(float(found.details["number"]))]
        )


class SizesWithAMargin(Tampered):
    """Refuses records that are only nearly too large."""

    def commit(self, change: Change) -> None:
        """Refuse a head within half a kilobyte of the limit."""
        if stored_bytes(change.run.model_dump(mode="json")) > MAX_RECORD_BYTES - 512:
            raise InvariantBroken
        self._store.commit(change)


class CountsTheEventsOnly(Tampered):
    """Refuses one event less than the hundred actions leave room for."""

    def commit(self, change: Change) -> None:
        """Refuse what fits exactly."""
        if len(change.events) >= 90:
            raise InvariantBroken
        self._store.commit(change)


class SkipsAnEvent(Tampered):
    """Is off by one behind the first page of a trail."""

    def events(self, run_id: str, after_sequence: int, limit: int) -> tuple[Event, ...]:
        """Return a page that begins one event late."""
        return self._store.events(run_id, after_sequence + (after_sequence > 1), limit)


class ListsById(Tampered):
    """Orders what is due by id."""

    def due(self, shard: str, now_ms: int, limit: int, cursor: str | None) -> DuePage:
        """Return a page in the order of ids."""
        found = sorted(self._store.due(shard, now_ms, max(limit, EVERYTHING), None).run_ids)
        left = [run_id for run_id in found if cursor is None or run_id > cursor]
        page = tuple(left[:limit])
        return DuePage(run_ids=page, cursor=page[-1] if len(left) > limit else None)


class LosesAPlaceBetweenPages(Tampered):
    """Is off by one behind the cursor of what is due."""

    def due(self, shard: str, now_ms: int, limit: int, cursor: str | None) -> DuePage:
        """Return a further page without its first run."""
        page = self._store.due(shard, now_ms, limit, cursor)
        return page if cursor is None else page.model_copy(update={"run_ids": page.run_ids[1:]})


class IsDueAMomentLate(Tampered):
    """Leaves out what is due at this very millisecond."""

    def due(self, shard: str, now_ms: int, limit: int, cursor: str | None) -> DuePage:
        """Return what was due before."""
        return self._store.due(shard, now_ms - 1, limit, cursor)


class ListsEveryTenant(Tampered):
    """Shows an operator the runs of another tenant."""

    def in_review(self, tenant_id: str, limit: int, after: ReviewPlace | None) -> ReviewPage:
        """Return the page of the tenant whose name is alike."""
        return self._store.in_review(tenant_id.lower(), limit, after)


class BeginsReviewsAnew(Tampered):
    """Forgets where a page of reviews began."""

    def in_review(self, tenant_id: str, limit: int, after: ReviewPlace | None) -> ReviewPage:
        """Return a page from the beginning."""
        page = self._store.in_review(tenant_id, limit, None)
        return self._store.in_review(tenant_id, limit, after) if page.next is None else page


class CountsFromTheEnd(Tampered):
    """Takes a negative number for a place from the end, as Python's lists do."""

    def events(self, run_id: str, after_sequence: int, limit: int) -> tuple[Event, ...]:
        """Return a slice."""
        if after_sequence >= 0:
            return self._store.events(run_id, after_sequence, limit)
        found = self._store.events(run_id, 0, max(limit, EVERYTHING))
        return found[after_sequence : after_sequence + limit]


class BeginsAtZero(Tampered):
    """Does not list what is due before 1970."""

    def due(self, shard: str, now_ms: int, limit: int, cursor: str | None) -> DuePage:
        """Return a page of the later ones."""
        page = self._store.due(shard, now_ms, limit, cursor)
        later = [run_id for run_id in page.run_ids if (self._due_at_ms(run_id) or 0) >= 0]
        return page.model_copy(update={"run_ids": tuple(later)})

    def _due_at_ms(self, run_id: str) -> int | None:
        found = self._store.load(run_id)
        return found.run.due_at_ms if found else None


class TakesEmptyPages(Tampered):
    """Answers a page that could hold nothing."""

    def events(self, run_id: str, after_sequence: int, limit: int) -> tuple[Event, ...]:
        """Return nothing for a limit of 0."""
        return self._store.events(run_id, after_sequence, limit) if limit else ()


def _known(effect: Effect) -> Effect:
    known = effect.model_dump(exclude=set(effect.__pydantic_extra__ or ()))
    return Effect.model_validate(known)


WRONG_STORES: tuple[type[Tampered], ...] = (
    ForgetsRepeats,
    KnowsCommitIdsAnywhere,
    WritesOverTheFuture,
    RaisesThePersonalDead,
    ErasesOnlyWhatIsThere,
    DropsNewerFields,
    ComposesText,
    ForgetsCase,
    RoundsNumbers,
    SizesWithAMargin,
    CountsTheEventsOnly,
    SkipsAnEvent,
    ListsById,
    LosesAPlaceBetweenPages,
    IsDueAMomentLate,
    ListsEveryTenant,
    BeginsReviewsAnew,
    TakesEmptyPages,
    CountsFromTheEnd,
    BeginsAtZero,
)
