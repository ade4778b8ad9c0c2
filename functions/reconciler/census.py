"""The scheduled census: how many effects are unknown for too long, and the oldest of them for how.

The sweeper sees an unknown effect when it is due, which is less and less often, so what one tick
sees is no measure of what there is. But every run with an effect in doubt is due within a day at
the latest: a read that settled nothing is repeated after six hours at most, and a run that waits
for a person is looked at daily. So the index of what is due within a day, read ahead of time,
nominates all of them, and each is read consistently.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from aws_lambda_powertools.utilities.typing import LambdaContext

from ledger.due import MAX_READ_WAIT_SECONDS, REVIEW_REMINDER_SECONDS
from ledger.effect import Effect
from ledger.errors import InvariantBroken
from ledger.ports import Clock, TimeLeft
from ledger.run import RunLedger
from ledger.store import LedgerStore
from ledger.transitions import EffectState
from runtime.boundary import boundary
from runtime.log import log, log_failure
from runtime.metric_names import OLDEST_UNKNOWN_AGE, RUNS_COUNTED, UNKNOWN_PAST_DEADLINE
from runtime.metrics import measure
from runtime.wiring import CLOCK, ledger_store, time_left

HORIZON_SECONDS = max(MAX_READ_WAIT_SECONDS, REVIEW_REMINDER_SECONDS)
PAGE_SIZE_RUNS = 100
# Ten seconds at some five milliseconds each. With more, the census says that it is incomplete.
MAX_RUNS = 2_000
MIN_REMAINING_MS = 8_000


@dataclass
class Census:
    """What one census came to."""

    runs: int = 0
    unreadable: int = 0
    """Nominated runs that were passed over, for they could not be read."""

    past_deadline: int = 0
    oldest_age_seconds: float = 0.0
    complete: bool = False
    """Whether every nominated run was read."""


def take_census(store: LedgerStore, clock: Clock, time_left: TimeLeft) -> Census:
    """Return the counts over all open runs. Raises LedgerUnavailable."""
    census = Census()
    read: set[str] = set()
    for run_id in _nominated(store, clock.now_ms() + HORIZON_SECONDS * 1000):
        if run_id in read:  # it was changed meanwhile, and moved on in the index
            continue
        if len(read) == MAX_RUNS or time_left.remaining_ms() < MIN_REMAINING_MS:
            return census
        read.add(run_id)
        try:
            ledger = store.load(run_id)
        except InvariantBroken as error:
            log_failure("a run could not be counted", error, run_id=run_id)
            census.unreadable += 1
            continue
        if ledger is not None and ledger.run.is_open:
            _count(census, ledger, clock.now_ms())
    census.runs = len(read)
    census.complete = census.unreadable == 0
    return census


def _nominated(store: LedgerStore, until_ms: int) -> Iterator[str]:
    for shard in store.due_shards:
        cursor: str | None = None
        while True:  # bounded by the reader
            page = store.due(shard, until_ms, PAGE_SIZE_RUNS, cursor)
            yield from page.run_ids
            cursor = page.cursor
            if cursor is None:
                break


def _count(census: Census, ledger: RunLedger, now_ms: int) -> None:
    for effect in ledger.effects:
        since_ms = _unknown_since_ms(effect, now_ms)
        if since_ms is None:
            continue
        age_seconds = max(0, now_ms - since_ms) / 1000
        census.oldest_age_seconds = max(census.oldest_age_seconds, age_seconds)
        census.past_deadline += age_seconds > effect.recovery_deadline_seconds


def _unknown_since_ms(effect: Effect, now_ms: int) -> int | None:
    """Return since when the outcome is unknown, None when it is not.

    A claim that has lapsed without an answer is as unknown as one that somebody wrote down.
    """
    if effect.state is EffectState.UNKNOWN:
        return effect.unsettled_since_ms
    attempt = effect.last_attempt
    if effect.state is EffectState.ATTEMPTING and attempt and not effect.claim_is_live(now_ms):
        return attempt.claimed_at_ms
    return None


def report(census: Census) -> None:
    """Measure the counts. One that did not read everything says nothing of zero."""
    for metric, value in (
        (UNKNOWN_PAST_DEADLINE, census.past_deadline),
        (OLDEST_UNKNOWN_AGE, census.oldest_age_seconds),
    ):
        if value or census.complete:
            measure(metric, value)
    if census.complete:
        measure(RUNS_COUNTED, census.runs)


def handler(_event: Mapping[str, object], context: LambdaContext) -> dict[str, int | bool]:
    """Return the counts of one census."""
    with boundary("the census did not finish", stage="census"):
        census = take_census(ledger_store(), CLOCK, time_left(context))
        report(census)
        log("counted", count=census.runs, outcome="complete" if census.complete else "partial")
        return {
            "runs": census.runs,
            "past_deadline": census.past_deadline,
            "unreadable": census.unreadable,
            "complete": census.complete,
        }
