"""The demo is proven by every finding together, and by no fewer."""

from typing import Any

import pytest
from rich.console import Console

from sandbox.findings import Findings
from sandbox.story import tell

_PROVEN: dict[str, Any] = {
    "run_id": "run_1",
    "refunds_at_provider": 1,
    "refund_id": "re_1",
    "refunded_minor": 7900,
    "refund_requests": 1,
    "receipts_sent": 1,
    "receipt_quotes_refund": True,
    "final_state": "completed",
    "worker_killed": True,
    "killed_pid": 4711,
    "seconds_from_kill_to_confirmed": 3.2,
    "seconds_total": 40.0,
    "refund_states": ["planned", "attempting", "unknown", "confirmed"],
    "events_gapless": True,
    "events": [{"sequence": 1}],
}


def test_one_refund_one_receipt_completed_after_a_real_kill_is_proven() -> None:
    assert Findings.model_validate(_PROVEN).proven


@pytest.mark.parametrize(
    "differs",
    [
        {"refunds_at_provider": 0},
        {"refunds_at_provider": 2},
        {"refunded_minor": 10_000},
        {"receipts_sent": 0},
        {"receipts_sent": 2},
        {"receipt_quotes_refund": False},
        {"final_state": "review"},
        {"worker_killed": False},
        {"events_gapless": False},
        {"seconds_from_kill_to_confirmed": None},
    ],
    ids=lambda differs: str(differs),
)
def test_any_other_finding_proves_nothing(differs: dict[str, Any]) -> None:
    assert not Findings.model_validate({**_PROVEN, **differs}).proven


def test_story_has_ten_lines_and_names_what_is_held(capsys: pytest.CaptureFixture[str]) -> None:
    tell(Console(width=200), Findings.model_validate(_PROVEN), "ch_1", "digest_1", "Completed.")

    _, *lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 10
    told = "\n".join(lines)
    assert all(fact in told for fact in ("re_1", "USD 79.00", "4711", "digest_1", "3.2 s"))
    assert "One refund, one receipt, completed." in lines[-1]


def test_story_of_a_failure_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    failed = {**_PROVEN, "refunds_at_provider": 2, "worker_killed": False}

    tell(Console(width=200), Findings.model_validate(failed), "ch_1", "digest_1", "Completed.")

    told = capsys.readouterr().out
    assert "NOT PROVEN" in told
    assert "NOT killed" in told
