"""The reconcile worker: look after the runs that messages name, one at a time.

A message only nominates. The run is read and claimed (``ledger.sweep``), so one that comes twice,
late or out of order changes nothing. A message is given back only when its run broke in a way that
waiting does not mend, and counted; one that breaks before its run can be claimed ends in the
dead-letter queue, for a person. What has to wait is due again by itself, and the sweeper names it
then.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any

from aws_lambda_powertools.utilities.batch import (
    BatchProcessor,
    EventType,
    process_partial_response,
)
from aws_lambda_powertools.utilities.data_classes.sqs_event import SQSRecord
from aws_lambda_powertools.utilities.typing import LambdaContext

from ledger.counter import perform_counter
from ledger.errors import RetryLater
from ledger.ports import Ports, TimeLeft
from ledger.sweep import SweepResult, sweep_run
from runtime.boundary import boundary
from runtime.log import log, log_failure
from runtime.metric_names import RUNS_BROKEN
from runtime.metrics import measure
from runtime.wiring import ports, time_left
from workflows.migrations import with_versions

# One run may need a provider read with its full timeout; do not begin what cannot end.
MIN_REMAINING_MS = 15_000
LEFT_FOR_NEXT_TICK = "left_for_next_tick"
# What a run's id may look like. Anything else is a message of somebody else, and is not quoted.
_RUN_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")


class NotLookedAfter(Exception):
    """A run broke. What broke is in the log: the library that hears this may quote its text."""


def look_after(ports: Ports, time_left: TimeLeft, run_id: str) -> str:
    """Return what looking after a run came to. Raises NotLookedAfter when it broke."""
    if time_left.remaining_ms() < MIN_REMAINING_MS:
        return LEFT_FOR_NEXT_TICK
    try:
        result = sweep_run(ports, run_id)
        if result is SweepResult.COUNTER:
            perform_counter(ports, time_left, run_id)
    except RetryLater as later:
        log_failure("this run has to wait; it is named again when it is due", later, run_id=run_id)
        return SweepResult.WAITING.value
    except Exception as error:  # noqa: BLE001  raised on, without its text
        log_failure("this run broke", error, run_id=run_id)
        # Given back, the message finds a run that its claim made due later, and is done: only this
        # count shows one that breaks each time.
        measure(RUNS_BROKEN, 1)
        raise NotLookedAfter from None
    return result.value


def work(batch: Mapping[str, Any], look: Callable[[str], str]) -> dict[str, Any]:
    """Return the messages of ``batch`` to give back, as SQS wants to be told; one stops no other.

    A process that dies in the middle gives all of them back, those that were done among them.
    """

    def handle(record: SQSRecord) -> None:
        run_id = record.body
        if not _RUN_ID.fullmatch(run_id):
            log("a message names no run")
            raise NotLookedAfter
        log("looked after", run_id=run_id, outcome=look(run_id))

    # Without this a batch of one poisoned message would be an error of the function as well.
    processor = BatchProcessor(EventType.SQS, raise_on_entire_batch_failure=False)
    return dict(process_partial_response(dict(batch), handle, processor))


def handler(event: Mapping[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Return ``batchItemFailures``."""
    with boundary("a batch of due runs was not looked after", stage="reconcile_worker"):
        wired, left = with_versions(ports()), time_left(context)
        return work(event, lambda run_id: look_after(wired, left, run_id))
