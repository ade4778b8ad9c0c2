"""Every alarm as data: what it stands on, what it means, what to do first, and what silence means.

The order is that in which a person should care. Each has an entry of the same name in the runbook.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from aws_cdk import Duration
from aws_cdk.aws_cloudwatch import ComparisonOperator, IMetric, Metric, Stats, TreatMissingData
from aws_cdk.aws_dynamodb import ITable
from aws_cdk.aws_sqs import IQueue

from runtime import metric_names as names
from stacks.access import DUE_INDEX, REVIEW_INDEX
from stacks.audit import AUDIT_INTERVAL_MINUTES, CENSUS_INTERVAL_MINUTES
from stacks.recovery import SWEEP_INTERVAL_MINUTES

RUNBOOK = "docs/operations.md"
# Past its recovery deadline an effect has an alarm of its own. This is the second call, when nobody
# came: a key protects a replay for 22 hours, and four leave a person the working day for it.
OLDEST_UNKNOWN_BUDGET_SECONDS = 4 * 3600
# A tick that is missed once is a restart; five in a row are an outage.
SILENT_SWEEPS = 5
# The same for what comes every five minutes.
SILENT_COUNTS = 3
# A run that breaks is looked after again within the hour; one break may be a deploy, three are not.
BROKEN_IN_AN_HOUR = 3
# The queue is sampled each minute. One that is worked on is empty at most samples: the sweeper
# names at most what the workers do in a minute, and a message that is given back is out of sight.
FULL_SAMPLES_MINUTES = 15

ABOVE = ComparisonOperator.GREATER_THAN_THRESHOLD
BELOW = ComparisonOperator.LESS_THAN_THRESHOLD
# A number that nobody says any more has not become zero: the alarm stays as it was, and another
# one says that nobody counts.
STAYS = TreatMissingData.IGNORE
# What is said at every turn, zero included. Silence is the fault itself.
SILENCE_IS_IT = TreatMissingData.BREACHING
# AWS says these only when there is something to say.
NOTHING_HAPPENED = TreatMissingData.NOT_BREACHING


class Watch(NamedTuple):
    """One alarm. ``threshold`` is never reached when all is well."""

    name: str
    metric: IMetric
    threshold: float
    comparison: ComparisonOperator
    periods: int
    missing: TreatMissingData
    meaning: str
    first: str

    @property
    def anchor(self) -> str:
        """Return the heading of its entry in the runbook, as a link names it."""
        return self.name.lower()

    @property
    def description(self) -> str:
        """Return what the person reads who is woken by it."""
        return f"{self.meaning} First: {self.first} Runbook: {RUNBOOK}#{self.anchor}"


def ours(namespace: str, metric: names.Metric, statistic: str, minutes: int) -> Metric:
    """Return a metric that the code emits without dimensions of its own."""
    return Metric(
        namespace=namespace,
        metric_name=metric.name,
        dimensions_map={names.SERVICE_DIMENSION: names.SERVICE},
        statistic=statistic,
        period=Duration.minutes(minutes),
    )


def alarms(
    namespace: str, table: ITable, nominations: IQueue, dead_letters: Mapping[str, IQueue]
) -> Iterator[Watch]:
    """Yield every alarm of a deployment, the most urgent first."""
    yield from _audited(namespace)
    yield from _counted(namespace)
    yield from _silent(namespace)
    yield _broken(namespace)
    yield _left_waiting(nominations)
    yield from _dead_letters(dead_letters)
    yield from _throttled(table)


def _audited(namespace: str) -> Iterator[Watch]:
    yield Watch(
        "DuplicateEffects",
        ours(namespace, names.DUPLICATE_EFFECTS, Stats.MAXIMUM, AUDIT_INTERVAL_MINUTES),
        0,
        ABOVE,
        1,
        STAYS,
        "The provider holds more than one record of one effect: a customer may have been paid "
        "twice.",
        "wake engineering and stop new runs; refund nothing and take nothing back yet.",
    )
    yield Watch(
        "UnledgeredEffects",
        ours(namespace, names.UNLEDGERED_EFFECTS, Stats.MAXIMUM, AUDIT_INTERVAL_MINUTES),
        0,
        ABOVE,
        1,
        STAYS,
        "A record at the provider carries our mark, and no attempt in the ledger explains it.",
        "look in the audit's log for the record, and ask who made it.",
    )


def _counted(namespace: str) -> Iterator[Watch]:
    yield Watch(
        "UnknownPastDeadline",
        ours(namespace, names.UNKNOWN_PAST_DEADLINE, Stats.MAXIMUM, CENSUS_INTERVAL_MINUTES),
        0,
        ABOVE,
        1,
        STAYS,
        "An effect is unknown for longer than its provider should need to show it.",
        "see whether the provider answers; the run is in review, and nothing is sent meanwhile.",
    )
    yield Watch(
        "OldestUnknownAge",
        ours(namespace, names.OLDEST_UNKNOWN_AGE, Stats.MAXIMUM, CENSUS_INTERVAL_MINUTES),
        OLDEST_UNKNOWN_BUDGET_SECONDS,
        ABOVE,
        1,
        STAYS,
        f"An effect has been unknown for over {OLDEST_UNKNOWN_BUDGET_SECONDS // 3600} hours, and "
        "its key will not protect a replay for ever.",
        "open the longest waiting run in the console and settle it today.",
    )


def _silent(namespace: str) -> Iterator[Watch]:
    yield Watch(
        "SweeperSilent",
        ours(namespace, names.RUNS_SWEPT, Stats.SAMPLE_COUNT, SWEEP_INTERVAL_MINUTES),
        1,
        BELOW,
        SILENT_SWEEPS,
        SILENCE_IS_IT,
        f"No sweep has ended for {SILENT_SWEEPS} minutes: runs that stopped are not brought back.",
        "read the sweeper's log; runs that have not stopped go on without it.",
    )
    yield Watch(
        "AuditSilent",
        ours(namespace, names.RECORDS_AUDITED, Stats.SAMPLE_COUNT, AUDIT_INTERVAL_MINUTES),
        1,
        BELOW,
        SILENT_COUNTS,
        SILENCE_IS_IT,
        "No audit has got to its end: DuplicateEffects is not being measured.",
        "see in the audit's log whether the provider answers; a green DuplicateEffects means "
        "nothing until then.",
    )
    yield Watch(
        "CensusSilent",
        ours(namespace, names.RUNS_COUNTED, Stats.SAMPLE_COUNT, CENSUS_INTERVAL_MINUTES),
        1,
        BELOW,
        SILENT_COUNTS,
        SILENCE_IS_IT,
        "No census has got to its end: unknown effects are not being counted.",
        "read the census's log; unknown effects are still looked up by the sweeper.",
    )


def _broken(namespace: str) -> Watch:
    return Watch(
        "RunsBroken",
        ours(namespace, names.RUNS_BROKEN, Stats.SUM, 60),
        BROKEN_IN_AN_HOUR - 1,
        ABOVE,
        1,
        # Said only when a run breaks.
        NOTHING_HAPPENED,
        f"Looking after runs broke {BROKEN_IN_AN_HOUR} times in an hour, in a way that waiting "
        "does not mend.",
        'find "this run broke" in the worker\'s log; such a run is not brought back until it is '
        "mended.",
    )


def _left_waiting(nominations: IQueue) -> Watch:
    return Watch(
        "WorkersBehind",
        nominations.metric_approximate_number_of_messages_visible(
            period=Duration.minutes(FULL_SAMPLES_MINUTES), statistic=Stats.MINIMUM
        ),
        0,
        ABOVE,
        1,
        # SQS says nothing of a queue that was not used for some hours.
        NOTHING_HAPPENED,
        f"Runs that are due have waited for a worker for {FULL_SAMPLES_MINUTES} minutes without a "
        "break: runs that stopped are brought back late, or not at all.",
        "read the worker's log; runs that have not stopped go on without it.",
    )


def _dead_letters(queues: Mapping[str, IQueue]) -> Iterator[Watch]:
    for name, queue in queues.items():
        yield Watch(
            name,
            queue.metric_approximate_number_of_messages_visible(
                period=Duration.minutes(5), statistic=Stats.MAXIMUM
            ),
            0,
            ABOVE,
            1,
            # SQS says nothing of a queue that was not used for some hours.
            NOTHING_HAPPENED,
            "Something could not be handled in several tries, and waits in a queue for a person.",
            "read why in the function's log, then do as the runbook says; it is kept for 14 days.",
        )


def _throttled(table: ITable) -> Iterator[Watch]:
    period = Duration.minutes(5)
    dynamodb = {
        "LedgerReadsThrottled": "ReadThrottleEvents",
        "LedgerWritesThrottled": "WriteThrottleEvents",
    }
    meaning = "turned away for going too fast; every caller waits and repeats, a bounded time."
    for name, metric in dynamodb.items():
        yield Watch(
            name,
            Metric(
                namespace="AWS/DynamoDB",
                metric_name=metric,
                dimensions_map={"TableName": table.table_name},
                statistic=Stats.SUM,
                period=period,
            ),
            0,
            ABOVE,
            2,
            NOTHING_HAPPENED,
            f"Requests to the ledger's table were {meaning}",
            "see whether traffic has grown; on-demand capacity follows within minutes.",
        )
    # DynamoDB counts the reads of an index by the index, and not by its table.
    for name, index in {
        "DueIndexThrottled": DUE_INDEX,
        "ReviewIndexThrottled": REVIEW_INDEX,
    }.items():
        yield Watch(
            name,
            Metric(
                namespace="AWS/DynamoDB",
                metric_name="ReadThrottleEvents",
                dimensions_map={
                    "TableName": table.table_name,
                    "GlobalSecondaryIndexName": index,
                },
                statistic=Stats.SUM,
                period=period,
            ),
            0,
            ABOVE,
            2,
            NOTHING_HAPPENED,
            f"Reads of the ledger's index {index!r} were {meaning}",
            "see whether traffic has grown; on-demand capacity follows within minutes.",
        )
    yield Watch(
        "FunctionsThrottled",
        # Without a dimension: all functions of the account and region share one limit.
        Metric(namespace="AWS/Lambda", metric_name="Throttles", statistic=Stats.SUM, period=period),
        0,
        ABOVE,
        2,
        NOTHING_HAPPENED,
        f"Calls of this account's functions were {meaning}",
        "see which function uses up the account's concurrency, and whether it is ours.",
    )
