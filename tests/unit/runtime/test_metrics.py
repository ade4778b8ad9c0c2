"""What is measured is said once, in CloudWatch's embedded metric format, and names nobody."""

import json
from collections.abc import Iterator
from io import StringIO
from typing import Any

import pytest

from ledger.errors import EffectUnknown
from runtime import metrics
from runtime.boundary import Crashed, boundary
from runtime.metric_names import (
    DUPLICATE_EFFECTS,
    METRICS,
    OLDEST_UNKNOWN_AGE,
    PROVIDER_ERRORS,
    RUNS_SWEPT,
)
from runtime.metrics import MAX_MEASUREMENTS, flush, flushed, measure
from tests.recovery.logs import log_into

Said = list[dict[str, Any]]


@pytest.fixture(autouse=True)
def _deployed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("POWERTOOLS_METRICS_NAMESPACE", "some-deployment")
    monkeypatch.setenv("POWERTOOLS_SERVICE_NAME", "some.handler")
    metrics._unsaid.clear()
    yield
    metrics._unsaid.clear()


def said(capsys: pytest.CaptureFixture[str]) -> Said:
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    return [line for line in lines if "_aws" in line]


def test_a_value_is_said_under_its_name_unit_and_nothing_that_tells_functions_apart(
    capsys: pytest.CaptureFixture[str],
) -> None:
    measure(OLDEST_UNKNOWN_AGE, 12.5)
    flush()

    (line,) = said(capsys)
    (directive,) = line["_aws"]["CloudWatchMetrics"]
    assert directive["Namespace"] == "some-deployment"
    assert directive["Dimensions"] == [["service"]]
    assert directive["Metrics"] == [{"Name": "OldestUnknownAgeSeconds", "Unit": "Seconds"}]
    assert line["service"] == "ledger"
    assert line["OldestUnknownAgeSeconds"] == [12.5]
    assert set(line) == {"_aws", "service", "OldestUnknownAgeSeconds"}


def test_a_function_that_measured_nothing_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    flush()

    assert capsys.readouterr().out == ""


def test_zero_is_a_value(capsys: pytest.CaptureFixture[str]) -> None:
    measure(RUNS_SWEPT, 0)
    flush()

    (line,) = said(capsys)
    assert line["RunsSwept"] == [0.0]


def test_what_was_said_is_not_said_again(capsys: pytest.CaptureFixture[str]) -> None:
    measure(RUNS_SWEPT, 3)
    flush()
    flush()

    assert len(said(capsys)) == 1


def test_each_set_of_dimensions_has_a_line_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    measure(PROVIDER_ERRORS, 1, provider="stripe_refunds", error_class="unknown")
    measure(PROVIDER_ERRORS, 1, provider="stripe_refunds", error_class="unknown")
    measure(PROVIDER_ERRORS, 1, provider="ses_mail", error_class="refused")
    measure(DUPLICATE_EFFECTS, 0)
    flush()

    lines = said(capsys)
    assert len(lines) == 3
    assert {
        (line.get("provider"), line.get("error_class"), len(line.get("ProviderErrors", [])))
        for line in lines
    } == {("stripe_refunds", "unknown", 2), ("ses_mail", "refused", 1), (None, None, 0)}


def test_more_values_than_one_line_takes_are_all_said(capsys: pytest.CaptureFixture[str]) -> None:
    for number in range(200):
        measure(RUNS_SWEPT, number)
    flush()

    assert sorted(value for line in said(capsys) for value in line["RunsSwept"]) == [
        float(number) for number in range(200)
    ]


def test_an_invocation_that_measures_without_end_is_bounded() -> None:
    for _ in range(MAX_MEASUREMENTS + 10):
        measure(RUNS_SWEPT, 1)

    assert len(metrics._unsaid) == MAX_MEASUREMENTS


@pytest.mark.parametrize("value", ["ada@example.com", "Ada Lovelace", "", "x" * 65, "re_1\n"])
def test_a_dimension_that_is_no_word_of_the_code_is_refused(value: str) -> None:
    with pytest.raises(ValueError, match="ProviderErrors"):
        measure(PROVIDER_ERRORS, 1, provider=value, error_class="unknown")


def test_a_metric_takes_its_own_dimensions_and_no_other() -> None:
    with pytest.raises(ValueError, match="RunsSwept"):
        measure(RUNS_SWEPT, 1, customer="cus_1")
    with pytest.raises(ValueError, match="ProviderErrors"):
        measure(PROVIDER_ERRORS, 1)


def test_a_line_that_cannot_be_said_stops_nobody(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("POWERTOOLS_METRICS_NAMESPACE")
    measure(RUNS_SWEPT, 1)
    lines = StringIO()

    with log_into(lines):
        flush()

    assert "what was measured could not be said" in lines.getvalue()
    assert metrics._unsaid == []


@pytest.mark.parametrize("error", [EffectUnknown("not known"), RuntimeError("broken")])
def test_a_handler_that_fails_says_what_it_measured_before(
    error: Exception, capsys: pytest.CaptureFixture[str]
) -> None:
    def work() -> None:
        with boundary("it failed"):
            measure(RUNS_SWEPT, 7)
            raise error

    with pytest.raises((EffectUnknown, Crashed)):
        work()

    (line,) = said(capsys)
    assert line["RunsSwept"] == [7.0]


def test_a_door_says_what_it_measured_when_it_answers(capsys: pytest.CaptureFixture[str]) -> None:
    @flushed
    def answer(text: str) -> str:
        measure(RUNS_SWEPT, 1)
        return text

    assert answer("done") == "done"
    assert len(said(capsys)) == 1


def test_every_metric_is_listed_once_and_says_what_it_means() -> None:
    assert all(name == found.name and found.meaning for name, found in METRICS.items())
    assert len({found.meaning for found in METRICS.values()}) == len(METRICS)
