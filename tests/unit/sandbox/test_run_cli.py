"""The command line asks the API as the right person, and shows what it says."""

import argparse
import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from rich.console import Console

from ledger.effect import Evidence
from ledger.projection import EffectFacts
from sandbox import run_cli
from sandbox.api_client import Api
from sandbox.errors import SandboxError
from sandbox.outputs import Outputs

VIEW: dict[str, Any] = {
    "facts": {
        "run_id": "run_1",
        "workflow": "cancel-refund@4",
        "view_version": 12,
        "state": "review",
        "review_reason": "receipt is unknown past its deadline",
        "review_also": ["refund was made twice"],
        "settled_in_review": ["Refund"],
        "last_verified_checkpoint": "refund_confirmed",
        "effects": [
            {
                "label": "Receipt email",
                "state": "unknown",
                "record_id": None,
                "attempts": 1,
                "effect_id": "eff_1",
                "remarks": ["the provider says bounced"],
                "generation": 1,
                "key_first_used_at_ms": None,
                "key_protects_until_ms": None,
                "overdue_at_ms": 1_767_226_500_000,
                "overdue": False,
                "candidates": [],
            },
            {
                "label": "Refund",
                "state": "conflict",
                "record_id": None,
                "attempts": 2,
                "effect_id": "eff_2",
                "remarks": [],
                "generation": 2,
                "key_first_used_at_ms": 1_767_225_600_000,
                "key_protects_until_ms": 1_767_308_400_000,
                "overdue_at_ms": 1_767_225_780_000,
                "overdue": True,
                "candidates": [
                    {
                        "source": "stripe_refunds",
                        "record_id": f"re_{number}",
                        "provider_status": "succeeded",
                        "fields": {"currency": "USD", "amount_minor": 7900},
                        "read_at_ms": 1_767_225_900_000,
                    }
                    for number in (1, 2)
                ],
            },
        ],
        "not_begun": ["Follow-up"],
    },
    "offers": [
        {
            "action": "send_again",
            "allowed": True,
            "refused_because": "",
            "effect_id": "eff_1",
            "consequence": {
                "reads": ["ses_mail"],
                "writes": ["Receipt email"],
                "moves_money": True,
                "words": "Sends it.",
            },
        },
        {
            "action": "resume_from_checkpoint",
            "allowed": False,
            "refused_because": "An effect is unsettled.",
            "effect_id": None,
            "consequence": {"reads": [], "writes": ["Refund"], "moves_money": True, "words": ""},
        },
    ],
}
REVIEW: dict[str, Any] = {
    "run_id": "run_1",
    "amount": "USD 79.00",
    "reason": "refund is [unknown] past its deadline",
    "waiting_since_ms": 1_767_225_600_000,
    "confirmed": ["Renewal cancellation sub_1"],
    "unknown": ["Refund"],
    "contrary": [],
}
OUTPUTS: dict[str, Any] = {
    name: {"agent": "token-agent", "customer": "token-customer", "operator": "token-operator"}
    if name == "tokens"
    else {}
    if name in ("state_machine_arns", "sign_in_names")
    else 1
    if name == "charge_amount_minor"
    else "http://sandbox.invalid"
    for name in Outputs.model_fields
}


class FakeApi:
    """Answers every request with the view, and remembers who asked what."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, outputs: Path) -> None:
        """Stand in for the sandbox that ``outputs`` describes."""
        self.asked: list[tuple[str, str, str, Any]] = []
        self.status = 200
        self.pages = 1
        self.fault: Exception | None = None
        outputs.write_text(json.dumps(OUTPUTS))
        monkeypatch.setattr(run_cli, "OUTPUTS_FILE", outputs)
        monkeypatch.setattr(run_cli, "Api", self._api)

    def _api(self, url: str, host: str, tokens: dict[str, str]) -> Api:
        api = Api(url, host, tokens)
        api._http.close()
        api._http = httpx.Client(base_url=url, transport=httpx.MockTransport(self._answer))
        return api

    def _answer(self, request: httpx.Request) -> httpx.Response:
        if self.fault is not None:
            raise self.fault
        who = request.headers["Authorization"].removeprefix("Bearer token-")
        body = json.loads(request.content) if request.content else None
        self.asked.append((who, request.method, request.url.path, body))
        if request.url.path == "/reviews":
            return httpx.Response(self.status, json=self._reviews(request.url.params))
        return httpx.Response(self.status, json=VIEW)

    def _reviews(self, asked: httpx.QueryParams) -> dict[str, Any]:
        """Return one review on each of ``pages`` pages, or an empty page."""
        page = int(asked.get("cursor", "1-").partition("-")[0])
        cursor = f"{page + 1}-next" if page < self.pages else None
        return {
            "reviews": [{**REVIEW, "run_id": f"run_{page}"}] if self.pages else [],
            "unreadable": [],
            "next_cursor": cursor,
        }


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> FakeApi:
    """Return the API of a sandbox that is up."""
    return FakeApi(monkeypatch, tmp_path / "outputs.json")


def run(*words: str) -> int:
    """Run one command as a shell gives it."""
    parser = argparse.ArgumentParser()
    run_cli.add_run_commands(parser.add_subparsers(dest="command", required=True))
    return run_cli.run_command(parser.parse_args(words), Console(width=200))


@pytest.mark.parametrize(
    ("command", "asked"),
    [
        ("status", ("customer", "GET", "/runs/run_1", None)),
        ("view", ("operator", "GET", "/runs/run_1/view", None)),
        ("packet", ("agent", "GET", "/runs/run_1/packet", None)),
    ],
)
def test_each_reader_asks_for_their_own_reading(
    fake: FakeApi, command: str, asked: tuple[str, str, str, None]
) -> None:
    assert run(command, "run_1") == 0
    assert fake.asked == [asked]


def test_an_action_is_chosen_on_the_view_as_it_is_now(fake: FakeApi) -> None:
    assert run("act", "run_1", "send_again", "--reason", "they wait", "--effect", "eff_1") == 0

    body = {
        "action": "send_again",
        "view_version": 12,
        "reason": "they wait",
        "effect_id": "eff_1",
    }
    assert fake.asked == [
        ("operator", "GET", "/runs/run_1/view", None),
        ("operator", "POST", "/runs/run_1/actions", body),
    ]


def test_an_action_on_the_view_as_it_was_seen_asks_for_no_other(fake: FakeApi) -> None:
    run("act", "run_1", "close_without_further_action", "--reason", "done", "--version", "7")

    body = {"action": "close_without_further_action", "view_version": 7, "reason": "done"}
    assert fake.asked == [("operator", "POST", "/runs/run_1/actions", body)]


@pytest.mark.usefixtures("fake")
def test_a_view_lists_what_may_be_done_with_its_consequence_and_what_not_with_the_reason(
    capsys: pytest.CaptureFixture[str],
) -> None:
    run("view", "run_1")

    shown = capsys.readouterr().out
    assert "review: receipt is unknown past its deadline" in shown
    assert "and since: refund was made twice" in shown
    assert "found out since: Refund" in shown
    assert "Receipt email: the provider says bounced" in shown
    assert "Follow-up: not begun" in shown
    assert shown.splitlines()[-2:] == [
        "may      send_again --effect eff_1: Sends it. "
        "[reads ses_mail; may write Receipt email; moves money]",
        "may not  resume_from_checkpoint: An effect is unsettled.",
    ]


@pytest.mark.usefixtures("fake")
def test_a_view_tells_the_life_of_each_key_the_deadline_and_what_is_in_conflict(
    capsys: pytest.CaptureFixture[str],
) -> None:
    run("view", "run_1")

    told = [line for line in capsys.readouterr().out.splitlines() if ": " in line]
    assert [line for line in told if line.startswith(("Receipt email: ", "Refund: "))] == [
        "Receipt email: unknown    1 attempts  eff_1",
        "Refund: conflict    2 attempts  eff_2",
        "Receipt email: the provider says bounced",
        "Receipt email: recovery deadline 2026-01-01 00:15:00 UTC",
        "Refund: key 2 first used 2026-01-01 00:00:00 UTC, protects until 2026-01-01 23:00:00 UTC",
        "Refund: recovery deadline 2026-01-01 00:03:00 UTC, which has passed",
        *(
            f"Refund: candidate re_{number} at stripe_refunds: succeeded, amount_minor 7900, "
            "currency USD, read 2026-01-01 00:05:00 UTC"
            for number in (1, 2)
        ),
    ]


def test_what_a_view_tells_of_an_effect_is_what_the_projection_gives() -> None:
    for effect in VIEW["facts"]["effects"]:
        assert set(effect) <= set(EffectFacts.model_fields)
        assert all(set(found) == set(Evidence.model_fields) for found in effect["candidates"])


@pytest.mark.usefixtures("fake")
def test_what_the_api_answers_is_json_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    run("packet", "run_1")

    assert json.loads(capsys.readouterr().out) == VIEW


def test_what_waits_is_listed_to_its_end_with_what_is_known(
    fake: FakeApi, capsys: pytest.CaptureFixture[str]
) -> None:
    fake.pages = 3

    assert run("reviews") == 0

    assert [asked[:2] for asked in fake.asked] == [("operator", "GET")] * 3
    shown = capsys.readouterr().out.splitlines()
    assert shown[:4] == [
        "run_1  USD 79.00  waits since 2026-01-01 00:00:00 UTC",
        "  refund is [unknown] past its deadline",
        "  unknown: Refund",
        "  confirmed: Renewal cancellation sub_1",
    ]
    assert [line for line in shown if line.startswith("run_3")]


def test_an_empty_list_is_said_so(fake: FakeApi, capsys: pytest.CaptureFixture[str]) -> None:
    fake.pages = 0

    assert run("reviews") == 0

    assert capsys.readouterr().out == "Nothing waits for a person now\n"


def test_a_list_without_end_is_cut_and_said_so(
    fake: FakeApi, capsys: pytest.CaptureFixture[str]
) -> None:
    fake.pages = 10**6

    assert run("reviews") == 0

    assert len(fake.asked) == run_cli.MAX_PAGES
    assert "these waited longest" in capsys.readouterr().out


def test_a_list_that_is_refused_is_no_success(fake: FakeApi) -> None:
    fake.status = 403

    assert run("reviews") == 1


@pytest.mark.parametrize("command", ["status", "view", "packet"])
def test_a_refusal_is_shown_and_no_success(fake: FakeApi, command: str) -> None:
    fake.status = 404

    assert run(command, "run_1") == 1


def test_an_action_on_a_run_that_cannot_be_seen_is_not_tried(fake: FakeApi) -> None:
    fake.status = 404

    assert run("act", "run_1", "send_again", "--reason", "they wait") == 1
    assert [method for _, method, _, _ in fake.asked] == ["GET"]


def test_a_sandbox_that_is_gone_is_named(fake: FakeApi) -> None:
    fake.fault = httpx.ConnectError("refused")

    with pytest.raises(SandboxError, match="gives no answer"):
        run("status", "run_1")


@pytest.mark.parametrize("left", [None, "", "{}"])
def test_without_a_sandbox_the_command_says_how_to_start_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, left: str | None
) -> None:
    outputs: Path = tmp_path / "outputs.json"
    if left is not None:
        outputs.write_text(left)
    monkeypatch.setattr(run_cli, "OUTPUTS_FILE", outputs)

    with pytest.raises(SandboxError, match="make sandbox"):
        run("status", "run_1")
