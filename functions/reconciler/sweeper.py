"""The scheduled sweeper: look after every run that is due, a bounded number per tick."""

from collections import Counter
from collections.abc import Iterator

from aws_lambda_powertools.utilities.typing import LambdaContext

from ledger.ports import Ports, TimeLeft
from ledger.sweep import sweep_run
from runtime.boundary import boundary
from runtime.log import log, log_failure
from runtime.wiring import ports, time_left

# A tick lasts under a minute and a run takes a few calls; what is left waits for the next tick.
MAX_RUNS_PER_TICK = 100
PAGE_SIZE_RUNS = 25
# One run may need a provider read with its full timeout; do not begin what cannot end.
MIN_REMAINING_MS = 15_000


def nominated(ports: Ports) -> Iterator[str]:
    """Yield due run ids, shard by shard, at most ``MAX_RUNS_PER_TICK`` of them."""
    left = MAX_RUNS_PER_TICK
    now_ms = ports.clock.now_ms()
    # A shard that is always full must not starve the ones behind it.
    shards = ports.store.due_shards
    offset = (now_ms // 60_000) % len(shards)
    for shard in (*shards[offset:], *shards[:offset]):
        cursor: str | None = None
        while left > 0:
            page = ports.store.due(shard, now_ms, min(PAGE_SIZE_RUNS, left), cursor)
            yield from page.run_ids
            left -= len(page.run_ids)
            cursor = page.cursor
            if cursor is None:
                break


def sweep(ports: Ports, time_left: TimeLeft) -> Counter[str]:
    """Return how many runs came to what. One that fails stops nobody; it stays due."""
    results: Counter[str] = Counter()
    for run_id in nominated(ports):
        if time_left.remaining_ms() < MIN_REMAINING_MS:
            results["left_for_next_tick"] += 1
            break
        try:
            results[sweep_run(ports, run_id).value] += 1
        except Exception as error:  # noqa: BLE001  one bad run must not hide those behind it
            log_failure("this run was not swept; it is tried again", error, run_id=run_id)
            results["failed"] += 1
    return results


def handler(_event: dict[str, object], context: LambdaContext) -> dict[str, int]:
    """Return the counts of one tick."""
    with boundary("the sweep did not finish", stage="sweeper"):
        results = sweep(ports(), time_left(context))
        log("swept", count=results.total())
        return dict(results)
