"""The door as its users meet it: through API Gateway, with real tokens."""

from typing import Any

import pytest

from ledger.transitions import RunState
from tests.e2e.conftest import Person


def assert_problem(answer: Any, status: int, kind: str) -> None:
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["type"].endswith(kind)
    assert answer.json()["detail"]


@pytest.mark.parametrize("token", [None, "not.a.token"])
def test_a_request_without_a_valid_token_gets_in_nowhere(person: Person, token: str | None) -> None:
    headers = {"Authorization": f"Bearer {token}"} if token else {}

    answer = person.api.call(None, "POST", "/runs", person.request(), headers)

    assert answer.status_code == 401


def test_the_same_key_is_the_same_run_and_another_body_under_it_is_refused(
    person: Person,
) -> None:
    first = person.ask("one")
    again = person.ask("one")
    other = person.api.start_run(
        f"{person.subscriber.customer_id}-one", person.request(amount_minor=1)
    )

    assert first == again
    assert_problem(other, 409, "idempotency-key-reused")


@pytest.mark.parametrize(
    ("changes", "kind"),
    [
        ({"amount_minor": 79.0}, "invalid-request"),
        ({"amount_minor": "7900"}, "invalid-request"),
        ({"amount_minor": -1}, "invalid-request"),
        ({"amount_minor": 0}, "invalid-request"),
        ({"amount_minor": True}, "invalid-request"),
        ({"currency": "ZZZ"}, "invalid-request"),
        ({"amount_minor": 10_001}, "not-allowed"),
        ({"currency": "EUR"}, "not-allowed"),
        ({"surprise": 1}, "invalid-request"),
        ({"charge_id": "ch_nobody"}, "not-allowed"),
    ],
)
def test_a_wrong_request_is_named_and_starts_nothing(
    person: Person, changes: dict[str, Any], kind: str
) -> None:
    key = f"{person.subscriber.customer_id}-wrong"

    refused = person.api.start_run(key, person.request(**changes))
    right = person.api.start_run(key, person.request())

    assert_problem(refused, 422, kind)
    # Had the refused request opened a run, the key would be taken.
    assert right.status_code == 202


def test_an_unknown_version_and_a_body_that_is_no_object_are_named(person: Person) -> None:
    unknown = {**person.request(), "workflow": "cancel-refund@99"}

    assert_problem(person.api.start_run("k", unknown), 422, "unknown-workflow")
    listed: Any = [1]
    assert_problem(person.api.start_run("k", listed), 400, "malformed-body")


def test_only_the_customer_decides_and_only_on_what_was_shown(person: Person) -> None:
    run_id = person.ask()
    shown = person.shown_approval(run_id)
    path = f"/runs/{run_id}/approvals/{shown['approval_id']}/decision"
    yes = {"decision": "approve", "digest": shown["digest"]}

    by_agent = person.api.call("agent", "POST", path, yes)
    altered = person.api.decide(run_id, shown["approval_id"], "approve", "sha256:0")
    declined = person.api.decide(run_id, shown["approval_id"], "decline", shown["digest"])
    after = person.api.decide(run_id, shown["approval_id"], "approve", shown["digest"])

    assert_problem(by_agent, 403, "not-permitted")
    assert_problem(altered, 409, "digest-mismatch")
    assert declined.json()["status"] == RunState.CLOSED
    assert_problem(after, 409, "already-decided")
    assert person.sandbox.stripe.requests("POST", "/v1/refunds") == []


def test_a_run_of_somebody_else_is_not_there(person: Person) -> None:
    run_id = person.ask()
    other = person.sandbox.api  # signed in as another customer of the sandbox

    assert_problem(other.call("customer", "GET", f"/runs/{run_id}"), 404, "run-not-found")
    assert person.api.run(run_id, "operator")["run_id"] == run_id
