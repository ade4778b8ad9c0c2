"""A run can be followed through what its helpers log, by its id and by nothing personal."""

import json
from io import StringIO
from types import ModuleType
from typing import Any, cast
from unittest import mock

import pytest

from events import stripe_notice
from ledger.ports import StartOutcome
from providers.stripe_notice import Kind, Nomination, Reference
from reconciler import execution_status
from runtime.log import ALLOWED_KEYS
from tests.fakes.clock import FakeClock, FakeTimeLeft
from tests.recovery.logs import log_into

RUN_ID = "run_" + "a" * 26
EFFECT_ID = "eff_" + "b" * 26
# What Powertools adds; the last is X-Ray's, by which a line leads to its trace.
ADDED = {"level", "location", "message", "timestamp", "service", "xray_trace_id"}


def logged(act: Any) -> list[dict[str, Any]]:
    """Return the lines that are logged while ``act`` is done."""
    lines = StringIO()
    with log_into(lines):
        act()
    return [json.loads(line) for line in lines.getvalue().splitlines()]


def without(module: ModuleType, **replaced: Any) -> Any:
    """Return a patch of what a handler would be joined to."""
    return mock.patch.multiple(module, **replaced)


def test_an_ended_execution_names_its_run() -> None:
    event = {"detail": {"name": f"{RUN_ID}-e2", "status": "FAILED"}}
    with without(
        execution_status,
        ports=mock.Mock(),
        with_versions=mock.Mock(),
        handle_ended=mock.Mock(return_value=StartOutcome.STARTED),
    ):
        (line,) = logged(lambda: execution_status.handler(cast("Any", event), cast("Any", None)))

    assert (line["run_id"], line["status"], line["outcome"]) == (RUN_ID, "FAILED", "started")


def test_an_execution_of_another_system_names_no_run() -> None:
    event = {"detail": {"name": "ada@example.com", "status": "FAILED"}}
    with without(execution_status, ports=mock.Mock(), with_versions=mock.Mock()):
        (line,) = logged(lambda: execution_status.handler(cast("Any", event), cast("Any", None)))

    assert line["run_id"] == ""
    assert "ada" not in json.dumps(line)


@pytest.mark.parametrize(("known", "outcome"), [(True, "looked again"), (False, "not ours")])
def test_a_notice_names_each_run_that_was_looked_at_because_of_it(
    known: bool, outcome: str
) -> None:
    left = FakeTimeLeft(FakeClock(), FakeClock().now_ms() + 60_000)
    with without(
        stripe_notice,
        nominated_by=mock.Mock(return_value=(Nomination(RUN_ID, EFFECT_ID),)),
        look_again=mock.Mock(return_value=known),
    ):
        (line,) = logged(
            lambda: stripe_notice.follow(
                mock.Mock(), mock.Mock(), left, Reference(Kind.CHARGE, "ch_1")
            )
        )

    assert (line["run_id"], line["outcome"]) == (RUN_ID, outcome)
    assert set(line) <= ADDED | ALLOWED_KEYS


def test_a_line_leads_to_its_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lambda puts the trace's id there; the logger adds it to each line."""
    monkeypatch.setenv("_X_AMZN_TRACE_ID", "Root=1-00000000-000000000000000000000000")
    event = {"detail": {"name": f"{RUN_ID}-e2", "status": "FAILED"}}
    with without(
        execution_status,
        ports=mock.Mock(),
        with_versions=mock.Mock(),
        handle_ended=mock.Mock(return_value=None),
    ):
        (line,) = logged(lambda: execution_status.handler(cast("Any", event), cast("Any", None)))

    assert line["xray_trace_id"] == "1-00000000-000000000000000000000000"
