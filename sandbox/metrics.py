"""Metrics of this machine: what the functions say in embedded metric format, put into CloudWatch.

AWS does this by itself; the emulator keeps the lines and makes nothing of them. Its alarms are
judged whenever a value arrives, so with this they change state here as they do there. Silence is
not judged by the emulator, and no alarm on it rings here.
"""

import json
import threading
import time
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from botocore.client import BaseClient
from botocore.exceptions import BotoCoreError, ClientError

from sandbox.clients import aws_client

if TYPE_CHECKING:
    from mypy_boto3_cloudwatch.type_defs import MetricDatumTypeDef

# One request each time, and one for each log that has grown: an alarm comes soon, and the machine
# is left alone.
POLL_SECONDS = 3.0
# An invocation's lines arrive together when it ends and carry the time of its end, however long it
# took; this is for the moment between that and the look at them.
OVERLAP_MS = 10_000
# The lines of the overlap are read twice and put once. More of them than this were never seen.
MAX_REMEMBERED = 10_000
# In every line of the format; https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/
# CloudWatch_Embedded_Metric_Format_Specification.html
_MARK = '"CloudWatchMetrics"'
_STOP_TIMEOUT_SECONDS = 30.0


class Line(NamedTuple):
    """One line of a log. The emulator numbers none, so a line is known by what it is."""

    group: str
    stream: str
    at_ms: int
    message: str


class MetricFeed:
    """Carries metrics from the log to CloudWatch until it is stopped."""

    def __init__(self, aws_port: int, since_ms: int) -> None:
        """Lines from before `since_ms` are left out."""
        self._logs = aws_client("logs", aws_port)
        self._cloudwatch = aws_client("cloudwatch", aws_port)
        self._since_ms = since_ms
        self._sizes: dict[str, int] = {}
        """Of each log, as it was when it was last carried from."""

        self._carried: dict[Line, None] = {}
        """In the order in which they were carried."""

        self._ended = threading.Event()
        # A daemon: a sandbox that is killed does not wait for it.
        self._thread = threading.Thread(target=self._carry_until_ended, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Returns once nothing is carried any more."""
        self._ended.set()
        self._thread.join(_STOP_TIMEOUT_SECONDS)

    def carry(self) -> int:
        """Puts what was said since the last time; returns how many lines that were."""
        began_ms = int(time.time() * 1000)
        sizes = _sizes(self._logs)
        grown = [group for group, size in sizes.items() if self._sizes.get(group) != size]
        lines = [line for line in self._lines(grown) if line not in self._carried]
        for line in lines:
            for namespace, data in data_of(line.message):
                self._cloudwatch.put_metric_data(Namespace=namespace, MetricData=data)
            self._carried[line] = None
        while len(self._carried) > MAX_REMEMBERED:
            self._carried.pop(next(iter(self._carried)))
        self._sizes = sizes
        self._since_ms = max(self._since_ms, began_ms - OVERLAP_MS)
        return len(lines)

    def _carry_until_ended(self) -> None:
        while not self._ended.wait(POLL_SECONDS):
            try:
                self.carry()
            except (BotoCoreError, ClientError):
                continue  # the AWS is busy, or being stopped: the same lines are read again

    def _lines(self, groups: Iterable[str]) -> Iterator[Line]:
        for group in groups:
            pages = self._logs.get_paginator("filter_log_events").paginate(
                logGroupName=group, startTime=self._since_ms, filterPattern=_MARK
            )
            for page in pages:
                for event in page["events"]:
                    yield Line(group, event["logStreamName"], event["timestamp"], event["message"])


def data_of(line: str) -> "Iterator[tuple[str, list[MetricDatumTypeDef]]]":
    """What a line says, by namespace; nothing for a line of another kind.

    Every set of dimensions of the line gets each value, as CloudWatch has it. A line of the format
    holds at most 100 metrics; ours far fewer values than one request takes, 1,000.
    """
    said = _object(line)
    directives = said.get("_aws", {}).get("CloudWatchMetrics", [])
    for directive in directives:
        at = datetime.fromtimestamp(said["_aws"]["Timestamp"] / 1000, UTC)
        data: list[MetricDatumTypeDef] = [
            {
                "MetricName": metric["Name"],
                "Dimensions": [{"Name": name, "Value": said[name]} for name in dimensions],
                "Timestamp": at,
                "Unit": metric["Unit"],
                "Value": value,
            }
            for dimensions in directive["Dimensions"]
            for metric in directive["Metrics"]
            for value in _values(said[metric["Name"]])
        ]
        yield directive["Namespace"], data


def _object(line: str) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _values(said: float | list[float]) -> list[float]:
    return said if isinstance(said, list) else [said]


def _sizes(logs: BaseClient) -> dict[str, int]:
    """The size of each log, which the emulator knows at once and AWS only after a while."""
    return {
        str(group["logGroupName"]): int(group["storedBytes"])
        for page in logs.get_paginator("describe_log_groups").paginate()
        for group in page["logGroups"]
    }
