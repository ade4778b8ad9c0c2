"""What the functions say reaches CloudWatch once, as it was said."""

import json
from typing import Any

import pytest

from runtime import metrics as runtime_metrics
from runtime.metric_names import DUPLICATE_EFFECTS, PROVIDER_ERRORS, RUNS_SWEPT
from runtime.metrics import flush, measure
from sandbox import metrics
from sandbox.metrics import MetricFeed, data_of


class Pages:
    """A paginator of one page."""

    def __init__(self, page: Any) -> None:
        self._page = page

    def paginate(self, **wanted: Any) -> list[Any]:
        return [self._page(**wanted)]


class Aws:
    """The logs and the metrics of an AWS."""

    def __init__(self) -> None:
        self.lines: list[dict[str, Any]] = []
        self.put: list[tuple[str, Any]] = []
        self.broken = False
        self.looks = 0

    def say(self, message: str, at_ms: int) -> None:
        self.lines.append({"logStreamName": "one", "timestamp": at_ms, "message": message})

    def get_paginator(self, name: str) -> Pages:
        if name == "describe_log_groups":
            return Pages(self._described)
        self.looks += 1
        return Pages(self._filtered)

    def put_metric_data(self, **given: Any) -> None:
        if self.broken:
            raise RuntimeError("CloudWatch is away")
        self.put.append((given["Namespace"], given["MetricData"]))

    def _described(self) -> dict[str, Any]:
        size = sum(len(line["message"]) for line in self.lines)
        return {"logGroups": [{"logGroupName": "group", "storedBytes": size}]}

    def _filtered(self, **wanted: Any) -> dict[str, Any]:
        events = [
            line
            for line in self.lines
            if line["timestamp"] >= wanted["startTime"]
            and wanted["filterPattern"].strip('"') in line["message"]
        ]
        return {"events": events}


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> Aws:
    made = Aws()
    monkeypatch.setattr(metrics, "aws_client", lambda _service, _port: made)
    monkeypatch.setattr("sandbox.metrics.time.time", lambda: 100.0)
    return made


def said(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """Return the lines that the functions' own module writes."""
    monkeypatch.setenv("POWERTOOLS_METRICS_NAMESPACE", "some-deployment")
    runtime_metrics._unsaid.clear()
    measure(RUNS_SWEPT, 3)
    measure(RUNS_SWEPT, 4)
    measure(DUPLICATE_EFFECTS, 0)
    measure(PROVIDER_ERRORS, 1, provider="ses_mail", error_class="unknown")
    flush()
    return capsys.readouterr().out.splitlines()


def a_line(name: str = "RunsSwept", value: float = 1.0) -> str:
    directive = {
        "Namespace": "some-deployment",
        "Dimensions": [["service"]],
        "Metrics": [{"Name": name, "Unit": "Count"}],
    }
    return json.dumps(
        {
            "_aws": {"Timestamp": 99_000, "CloudWatchMetrics": [directive]},
            "service": "ledger",
            name: [value],
        }
    )


def test_what_the_functions_write_is_understood(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = [
        (namespace, datum["MetricName"], datum["Value"], datum["Dimensions"], datum["Unit"])
        for line in said(monkeypatch, capsys)
        for namespace, data in data_of(line)
        for datum in data
    ]

    ledger = {"Name": "service", "Value": "ledger"}
    error = [
        {"Name": "error_class", "Value": "unknown"},
        {"Name": "provider", "Value": "ses_mail"},
        ledger,
    ]
    assert found == [
        ("some-deployment", "RunsSwept", 3.0, [ledger], "Count"),
        ("some-deployment", "RunsSwept", 4.0, [ledger], "Count"),
        ("some-deployment", "DuplicateEffects", 0.0, [ledger], "Count"),
        ("some-deployment", "ProviderErrors", 1.0, error, "Count"),
    ]


@pytest.mark.parametrize(
    "line", ["", "START RequestId: x", "[1]", '{"message": "CloudWatchMetrics"}', '{"_aws": {}}']
)
def test_a_line_of_another_kind_says_nothing(line: str) -> None:
    assert list(data_of(line)) == []


def test_a_line_is_put_once_however_often_it_is_read(aws: Aws) -> None:
    feed = MetricFeed(1, 0)
    aws.say(a_line(), 99_000)

    counts = [feed.carry(), feed.carry()]
    aws.say(a_line(value=2), 99_500)
    counts.append(feed.carry())

    assert counts == [1, 0, 1]
    assert [data[0]["Value"] for _, data in aws.put] == [1.0, 2.0]


def test_a_log_that_has_not_grown_is_not_looked_at(aws: Aws) -> None:
    feed = MetricFeed(1, 0)
    aws.say(a_line(), 99_000)

    for _ in range(3):
        feed.carry()

    assert aws.looks == 1


def test_what_was_said_before_the_sandbox_was_ready_is_left_out(aws: Aws) -> None:
    aws.say(a_line(), 98_000)

    assert MetricFeed(1, 98_001).carry() == 0


def test_lines_that_could_not_be_put_are_put_the_next_time(aws: Aws) -> None:
    feed = MetricFeed(1, 0)
    aws.say(a_line(), 99_000)
    aws.broken = True
    with pytest.raises(RuntimeError):
        feed.carry()
    aws.broken = False

    assert feed.carry() == 1
    assert len(aws.put) == 1


def test_a_feed_remembers_a_bounded_number_of_lines(
    aws: Aws, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(metrics, "MAX_REMEMBERED", 2)
    feed = MetricFeed(1, 0)
    for number in range(5):
        aws.say(a_line(value=number), 99_000)

    feed.carry()

    assert len(feed._carried) == 2


def test_a_feed_that_is_stopped_carries_nothing_any_more(
    aws: Aws, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(metrics, "POLL_SECONDS", 0.001)
    feed = MetricFeed(1, 0)
    feed.start()
    feed.stop()
    aws.say(a_line(), 99_000)

    assert not feed._thread.is_alive()
    assert aws.put == []
