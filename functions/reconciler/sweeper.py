"""The scheduled sweeper: name the runs that are due, a bounded number per tick, to the workers.

It reads nothing but the index of what is due, so a tick costs the same whatever is open, and it
decides nothing: a worker reads each run consistently and claims it. Naming a run twice is harmless.
"""

from collections.abc import Iterator
from typing import NamedTuple

from aws_lambda_powertools.utilities.typing import LambdaContext

from ledger.ports import Clock, Nominations, TimeLeft
from ledger.store import LedgerStore
from runtime.boundary import boundary
from runtime.log import log
from runtime.metric_names import RUNS_SWEPT
from runtime.metrics import measure
from runtime.wiring import CLOCK, ledger_store, nominations, time_left

# What the workers look after in a minute, five at a time and a second each. More would only be
# named again by the next tick.
MAX_RUNS_PER_TICK = 300
PAGE_SIZE_RUNS = 100
# A page may take as long as the store gives up after, and sending it a few calls.
MIN_REMAINING_MS = 20_000


class Tick(NamedTuple):
    """What one tick came to."""

    due: int
    """Runs that the index named, up to the bound."""

    queued: int
    """Those that the queue took. The others stay due."""


def nominate(store: LedgerStore, clock: Clock, queue: Nominations, time_left: TimeLeft) -> Tick:
    """Return how many runs were due and queued.

    Raises LedgerUnavailable and RetryLater; what was queued before is looked after all the same.
    """
    due = queued = 0
    for run_ids in due_pages(store, clock.now_ms()):
        due += len(run_ids)
        queued += queue.put(run_ids)
        if time_left.remaining_ms() < MIN_REMAINING_MS:
            break
    return Tick(due, queued)


def due_pages(store: LedgerStore, now_ms: int) -> Iterator[tuple[str, ...]]:
    """Yield due run ids by pages, shard by shard, at most ``MAX_RUNS_PER_TICK`` in all."""
    left = MAX_RUNS_PER_TICK
    # A shard that is always full must not starve the ones behind it.
    shards = store.due_shards
    offset = (now_ms // 60_000) % len(shards)
    for shard in (*shards[offset:], *shards[:offset]):
        cursor: str | None = None
        while left > 0:
            page = store.due(shard, now_ms, min(PAGE_SIZE_RUNS, left), cursor)
            if page.run_ids:
                yield page.run_ids
            left -= len(page.run_ids)
            cursor = page.cursor
            if cursor is None:
                break


def handler(_event: dict[str, object], context: LambdaContext) -> dict[str, int]:
    """Return the counts of one tick."""
    with boundary("the sweep did not finish", stage="sweeper"):
        tick = nominate(ledger_store(), CLOCK, nominations(), time_left(context))
        # Said when nothing was due as well: silence then means that nobody looks.
        measure(RUNS_SWEPT, tick.due)
        if tick.queued < tick.due:
            log("the queue did not take all; the rest stays due", count=tick.due - tick.queued)
        log("swept", count=tick.queued)
        return tick._asdict()
