"""The ledger's store, measured at the edge: what a committed change says in its events.

The domain emits nothing. Whatever is counted here is counted from events, so that a number on the
dashboard and the trail of a run tell the same story.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from ledger.attempt import Attempt, AttemptOutcome
from ledger.effect import Effect
from ledger.event import Event, EventKind
from ledger.run import PersonalFields, RunLedger
from ledger.store import Change, DuePage, LedgerStore, ReviewPage, ReviewPlace
from ledger.transitions import EffectState
from runtime.log import log_failure
from runtime.metric_names import (
    APPROVALS_OVERDUE,
    CONTRADICTED_EFFECTS,
    MANUAL_INTERVENTIONS,
    RECOVERY_ATTEMPTS,
    RESTART_TO_RECONCILED,
    REVIEWS_REQUIRED,
    Metric,
)
from runtime.metrics import measure

COUNTED: Mapping[str, Metric] = {
    EventKind.APPROVAL_LAPSED: APPROVALS_OVERDUE,
    EventKind.EFFECT_CONTRADICTED: CONTRADICTED_EFFECTS,
    EventKind.OPERATOR_ACTED: MANUAL_INTERVENTIONS,
    EventKind.REVIEW_REQUIRED: REVIEWS_REQUIRED,
}
"""Each of these events counts once."""

ENDS = frozenset({EventKind.RUN_COMPLETED, EventKind.RUN_CLOSED})
LOOKED_UP = frozenset({AttemptOutcome.UNKNOWN, AttemptOutcome.FOUND, AttemptOutcome.ABSENT})


class Value(NamedTuple):
    """One value of a metric without dimensions."""

    metric: Metric
    value: float


class MeasuredStore:
    """A ``ledger.store.LedgerStore`` over another, which tells ``tell`` what commits say."""

    def __init__(self, store: LedgerStore, tell: Callable[[Metric, float], None] = measure) -> None:
        """Pass everything on to ``store``."""
        self._store = store
        self._tell = tell
        self._seen: RunLedger | None = None
        """The run that was read last: a change is decided on what was read just before it."""

    @property
    def due_shards(self) -> tuple[str, ...]:
        """Return the shards over which due runs are spread."""
        return self._store.due_shards

    def load(self, run_id: str) -> RunLedger | None:
        """Return what the store returns."""
        self._seen = self._store.load(run_id)
        return self._seen

    def commit(self, change: Change) -> None:
        """Commit, and measure what was written. What cannot be measured was written all the same.

        A writer who repeats a change whose answer was lost is counted again: that happens inside
        the store, which is below.
        """
        self._store.commit(change)
        try:
            for metric, value in values_of(change, self._before(change)):
                self._tell(metric, value)
        except Exception as error:  # noqa: BLE001  the change stands
            log_failure("a change was not measured", error, run_id=change.run.run_id)

    def events(self, run_id: str, after_sequence: int, limit: int) -> tuple[Event, ...]:
        """Return what the store returns."""
        return self._store.events(run_id, after_sequence, limit)

    def due(self, shard: str, now_ms: int, limit: int, cursor: str | None) -> DuePage:
        """Return what the store returns."""
        return self._store.due(shard, now_ms, limit, cursor)

    def in_review(self, tenant_id: str, limit: int, after: ReviewPlace | None) -> ReviewPage:
        """Return what the store returns."""
        return self._store.in_review(tenant_id, limit, after)

    def personal(self, run_id: str) -> PersonalFields | None:
        """Return what the store returns."""
        return self._store.personal(run_id)

    def erase_personal(self, run_id: str) -> None:
        """Erase what the store erases."""
        self._store.erase_personal(run_id)

    def _before(self, change: Change) -> RunLedger | None:
        """Return the run as the change found it, None for a new one."""
        seen = self._seen
        if seen is None or seen.run.run_id != change.run.run_id:
            return None
        return seen if seen.run.sequence == change.expected_sequence else None


def values_of(change: Change, before: RunLedger | None) -> Iterator[Value]:
    """Yield what a committed change says; ``before`` is the run as it found it."""
    for event in change.events:
        if event.kind in COUNTED:
            yield Value(COUNTED[event.kind], 1)
        if event.kind in ENDS:
            yield Value(RECOVERY_ATTEMPTS, _recovery_attempts(change, before))
    yield from _reconciled(change, before)


def _recovery_attempts(change: Change, before: RunLedger | None) -> int:
    effects = {found.effect_id: found for found in (before.effects if before else ())}
    effects |= {found.effect_id: found for found in change.effects}
    looked_up = [
        attempt
        for effect in effects.values()
        for attempt in effect.attempts
        if attempt.outcome in LOOKED_UP
    ]
    return max(0, change.run.epoch - 1) + len(looked_up)


def _reconciled(change: Change, before: RunLedger | None) -> Iterator[Value]:
    """Yield, for each effect whose outcome a read brought, how long that took."""
    for effect in change.effects:
        prior = before.effect(effect.effect_id) if before else None
        found_out = any(
            event.subject == effect.effect_id
            and event.prior_state == EffectState.UNKNOWN
            and event.state not in ("", EffectState.UNKNOWN)
            for event in change.events
        )
        lost_at_ms = _lost_at_ms(prior)
        if found_out and lost_at_ms is not None:
            seconds = max(0, change.events[-1].at_ms - lost_at_ms) / 1000
            yield Value(RESTART_TO_RECONCILED, seconds)


def _lost_at_ms(effect: Effect | None) -> int | None:
    """Return when the answer was lost; a worker that died told nobody, so its claim counts."""
    if effect is None:
        return None
    if effect.state is EffectState.UNKNOWN:
        return effect.unsettled_since_ms
    attempt: Attempt | None = effect.last_attempt
    return attempt.claimed_at_ms if effect.state is EffectState.ATTEMPTING and attempt else None
