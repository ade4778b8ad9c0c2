"""The demo is proven by every finding together, and by no fewer."""

from types import SimpleNamespace
from typing import Any, cast

import pytest
from rich.console import Console

from ledger.run import RunLedger
from sandbox.findings import Findings, carries_effect_id, quotes
from sandbox.mail import Mail
from sandbox.story import tell

_PROVEN: dict[str, Any] = {
    "run_id": "run_1",
    "approved_digest": f"sha256:{'12345678' * 8}",
    "refunds_at_provider": 1,
    "refund_id": "re_1",
    "refunded_minor": 7900,
    "refund_carries_effect_id": True,
    "subscription_id": "sub_1",
    "renewal_off": True,
    "refund_requests": 1,
    "receipts_sent": 1,
    "receipt_subject": "Your refund of USD 79.00",
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
        {"refund_carries_effect_id": False},
        {"renewal_off": False},
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
    found = Findings.model_validate(_PROVEN)
    tell(Console(width=100), found, "ch_1", "Completed.")

    _, *lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 10
    told = "\n".join(lines)
    held = ("re_1", "USD 79.00", "4711", "sha256:123456781234…", "3.2 s", "not renew", "sub_1")
    assert all(fact in told for fact in held)
    assert '"Your refund of USD 79.00"' in told
    assert lines[-1].endswith("proven.")
    assert max(map(len, lines)) <= 100


def test_story_of_a_failure_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    failed = {
        **_PROVEN,
        "refunds_at_provider": 2,
        "worker_killed": False,
        "renewal_off": False,
        "refund_carries_effect_id": False,
        "receipt_quotes_refund": False,
    }

    tell(Console(width=200), Findings.model_validate(failed), "ch_1", "Completed.")

    told = capsys.readouterr().out
    assert "NOT PROVEN" in told
    assert all(said in told for said in ("NOT killed", "STILL renew", "WITHOUT", "NOT quoting"))


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ("We have refunded USD 79.00 to you. Refund reference: re_1", True),
        ("We have refunded USD 79.00 to you. Refund reference: re_2", False),
        ("We have refunded USD 7.90 to you. Refund reference: re_1", False),
    ],
    ids=["both", "another-refund", "another-amount"],
)
def test_receipt_quotes_a_refund_by_its_id_and_its_amount(text: str, quoted: bool) -> None:
    receipt = Mail("m1", ("customer@recovery-ledger.example",), "Your refund", text)

    assert quotes(receipt, {"id": "re_1", "amount": 7900, "currency": "usd"}) is quoted


@pytest.mark.parametrize(
    ("metadata", "ours"),
    [({"effect_id": "eff_refund"}, True), ({"effect_id": "eff_renewal"}, False), (None, False)],
    ids=["ours", "of-another-effect", "none"],
)
def test_refund_is_ours_only_by_the_id_of_the_refund_effect(
    metadata: dict[str, str] | None, ours: bool
) -> None:
    run = SimpleNamespace(
        effects=(
            SimpleNamespace(effect_id="eff_refund", provider="stripe_refunds"),
            SimpleNamespace(effect_id="eff_renewal", provider="stripe_billing"),
        )
    )

    assert carries_effect_id({"metadata": metadata}, cast("RunLedger", run)) is ours
