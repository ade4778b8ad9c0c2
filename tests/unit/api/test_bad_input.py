"""Bad input at the door: a problem that says what to do, nothing started, nothing lost."""

import json
from typing import Any

import pytest

from ledger.transitions import RunState
from tests.recovery.scenarios.cancel_refund import WANTED
from tests.unit.api.gateway import AGENT, CUSTOMER, KEY, WISH, Gateway, encoded

REQUEST = dict(WANTED)
TEXT = json.dumps(WISH)
MAX_BODY_BYTES = 64 * 1024
CHARGED_MINOR = 10_000


def wish(**changes: Any) -> dict[str, Any]:
    return {**WISH, "request": {**REQUEST, **changes}}


def without(name: str) -> dict[str, Any]:
    return {**WISH, "request": {key: REQUEST[key] for key in REQUEST if key != name}}


def assert_refused(gateway: Gateway, body: object, status: int, kind: str, **event: Any) -> None:
    """Fail unless the wish is refused, and the right one under the same key then accepted."""
    gateway.ask(body, **event).assert_problem(status, kind)

    assert gateway.starts == []
    assert gateway.world.runs() == []
    assert gateway.world.stripe.posts() == []
    assert gateway.ask().status == 202  # had anything been started, the key would be taken
    assert len(gateway.starts) == 1


@pytest.mark.parametrize(
    "body",
    [
        wish(amount_minor=79.0),
        TEXT.replace("7900", "7900.0"),
        TEXT.replace("7900", "7.9e3"),
        TEXT.replace("7900", "1e400"),
        TEXT.replace("7900", "NaN"),
        wish(amount_minor="7900"),
        wish(amount_minor=-1),
        wish(amount_minor=0),
        wish(amount_minor=True),
        wish(amount_minor=None),
        wish(amount_minor=[7900]),
        wish(amount_minor=2**53),
        wish(currency="ZZZ"),
        wish(currency="XAU"),
        wish(currency=""),
        wish(currency=840),
        wish(charge_id="re_1"),
        wish(charge_id="ch_" + "x" * 300),
        wish(charge_id="ch_1\n"),
        wish(surprise=1),
        without("amount_minor"),
        without("subscription_id"),
        {"workflow": "cancel-refund"},
        {"request": REQUEST},
        {**WISH, "surprise": 1},
        {**WISH, "workflow": 4},
        {**WISH, "workflow": None},
        {**WISH, "request": [REQUEST]},
        {**WISH, "request": "cus_1"},
        {**WISH, "customer_text": 7},
        {**WISH, "customer_text": None},
        {**WISH, "customer_text": "x" * 4_001},
    ],
    ids=lambda body: str(body)[:90].encode("ascii", "replace").decode(),
)
def test_a_wrong_wish_is_named_and_starts_nothing(gateway: Gateway, body: object) -> None:
    assert_refused(gateway, body, 422, "invalid-request")


@pytest.mark.parametrize(
    "workflow",
    ["cancel-refund@99", "cancel-refund@", "cancel-refund@4@4", "Cancel-Refund", "nothing@1", ""],
)
def test_an_unknown_workflow_or_version_starts_nothing(gateway: Gateway, workflow: str) -> None:
    assert_refused(gateway, {**WISH, "workflow": workflow}, 422, "unknown-workflow")


@pytest.mark.parametrize(
    "changes",
    [
        {"amount_minor": CHARGED_MINOR + 1},
        {"currency": "EUR"},
        {"charge_id": "ch_nobody"},
        {"subscription_id": "sub_nobody"},
    ],
    ids=str,
)
def test_what_the_provider_does_not_allow_starts_nothing(
    gateway: Gateway, changes: dict[str, Any]
) -> None:
    assert_refused(gateway, wish(**changes), 422, "not-allowed")


def test_another_customers_charge_starts_nothing(gateway: Gateway) -> None:
    gateway.world.stripe.world.add_customer("cus_2", "other@example.com")
    gateway.world.stripe.world.add_charge("ch_2", "cus_2", CHARGED_MINOR)

    assert_refused(gateway, wish(charge_id="ch_2"), 422, "not-allowed")


@pytest.mark.parametrize(
    "body",
    [
        "",
        "{",
        "null",
        "[]",
        '"text"',
        "7900",
        "[" * 100_000,
        "[" * 5_000,
        "9" * 5_000,
        TEXT + TEXT,
        TEXT.replace('"workflow"', '"workflow": "cancel-refund", "workflow"', 1),
        TEXT.replace('"amount_minor"', '"amount_minor": 1, "amount_minor"', 1),
        TEXT + " " * MAX_BODY_BYTES,
        "\ufeff" + TEXT,
        json.dumps(wish(customer_id="cus_\ud800")),
        json.dumps({**WISH, "customer_text": "\udc00\ud800"}),
        json.dumps({**WISH, "\ud800": 1}),
    ],
    ids=lambda body: str(body[:40]).encode("ascii", "replace").decode() + str(len(body)),
)
def test_a_body_that_is_no_json_object_starts_nothing(gateway: Gateway, body: str) -> None:
    assert_refused(gateway, body, 400, "malformed-body")


def test_no_body_at_all_starts_nothing(gateway: Gateway) -> None:
    assert_refused(gateway, None, 400, "malformed-body")


def test_a_body_in_base64_is_read_like_any_other(gateway: Gateway) -> None:
    answer = gateway.ask(encoded(WISH), isBase64Encoded=True)

    assert answer.status == 202
    assert answer.body["run_id"] == gateway.run_id


@pytest.mark.parametrize("body", ["%%%", TEXT, "/w==", encoded([1])])
def test_base64_of_anything_else_starts_nothing(gateway: Gateway, body: str) -> None:
    assert_refused(gateway, body, 400, "malformed-body", isBase64Encoded=True)


def test_the_largest_honest_body_is_not_too_large(gateway: Gateway) -> None:
    assert gateway.ask({**WISH, "customer_text": "\U0001f600" * 4_000}).status == 202


@pytest.mark.parametrize(
    "headers",
    [None, {}, {"idempotency-key": ""}, {"Idempotency-Key": "k" * 256}],
    ids=["none", "empty", "blank", "long"],
)
def test_a_wish_without_a_usable_key_starts_nothing(
    gateway: Gateway, headers: dict[str, str] | None
) -> None:
    assert_refused(gateway, WISH, 400, "idempotency-key-missing", headers=headers)


def test_a_key_is_taken_whatever_the_case_of_its_header(gateway: Gateway) -> None:
    first = gateway.ask(headers={"IDEMPOTENCY-KEY": KEY})
    again = gateway.ask(headers={"idempotency-key": KEY})

    assert (first.status, again.body["run_id"]) == (202, first.body["run_id"])


def test_a_used_key_with_another_body_starts_nothing_more(gateway: Gateway) -> None:
    gateway.ask()
    before = gateway.world.ledger

    gateway.ask(wish(amount_minor=1)).assert_problem(409, "idempotency-key-reused")

    assert len(gateway.starts) == 1
    assert gateway.world.ledger == before


@pytest.mark.parametrize(
    "claims",
    [
        None,
        [],
        "token",
        {},
        {**CUSTOMER, "custom:tenant_id": None},
        {**CUSTOMER, "custom:tenant_id": ""},
        {**CUSTOMER, "custom:tenant_id": ["tenant-1"]},
        {**CUSTOMER, "sub": None},
        {**CUSTOMER, "sub": ""},
        {**CUSTOMER, "sub": 7},
        {**CUSTOMER, "custom:customer_id": None},
        {**CUSTOMER, "custom:customer_id": ["cus_1"]},
        {**CUSTOMER, "custom:customer_id": "cus_2"},
        {**CUSTOMER, "custom:customer_id": None, "cognito:groups": 7},
        {**CUSTOMER, "custom:customer_id": None, "cognito:groups": "[operators]"},
    ],
    ids=str,
)
def test_claims_that_name_nobody_who_may_start_nothing(gateway: Gateway, claims: object) -> None:
    assert_refused(gateway, WISH, 403, "not-permitted", claims=claims)


@pytest.mark.parametrize("context", [{}, {"authorizer": {}}, {"authorizer": {"jwt": {}}}], ids=str)
def test_a_request_that_nobody_signed_starts_nothing(
    gateway: Gateway, context: dict[str, Any]
) -> None:
    assert_refused(gateway, WISH, 403, "not-permitted", requestContext=context)


def test_an_agent_may_ask_for_a_customer(gateway: Gateway) -> None:
    assert gateway.ask(claims=AGENT).status == 202


def asked(gateway: Gateway) -> dict[str, Any]:
    """Take the run to its request for a decision; return what the customer is shown."""
    gateway.world.customer.decides_after_ms = 2**40
    gateway.world.run_until(lambda ledger: ledger.run.state is RunState.AWAITING_APPROVAL)
    approval: dict[str, Any] = gateway.read().body["approval"]
    return approval


@pytest.mark.parametrize(
    ("changes", "status", "kind"),
    [
        ({"digest": "sha256:0"}, 409, "digest-mismatch"),
        ({"digest": None}, 422, "invalid-request"),
        ({"digest": ""}, 409, "digest-mismatch"),
        ({"decision": "yes"}, 422, "invalid-request"),
        ({"decision": True}, 422, "invalid-request"),
        ({"amount_minor": 1}, 422, "invalid-request"),
    ],
    ids=str,
)
def test_an_altered_decision_decides_nothing(
    gateway: Gateway, changes: dict[str, Any], status: int, kind: str
) -> None:
    shown = asked(gateway)
    before = gateway.world.ledger
    yes = {"decision": "approve", "digest": shown["digest"]}

    gateway.decide({**yes, **changes}, shown["approval_id"]).assert_problem(status, kind)

    assert gateway.world.ledger == before
    assert gateway.decide(yes, shown["approval_id"]).status == 200


def test_an_expired_request_is_decided_by_nobody(gateway: Gateway) -> None:
    shown = asked(gateway)
    gateway.world.clock.pass_ms(24 * 3_600_000)
    yes = {"decision": "approve", "digest": shown["digest"]}

    gateway.decide(yes, shown["approval_id"]).assert_problem(409, "approval-expired")

    assert gateway.world.stripe.posts() == []


@pytest.mark.parametrize("approval_id", ["", "apr_x", "../../runs"])
def test_an_unknown_request_is_decided_by_nobody(gateway: Gateway, approval_id: str) -> None:
    shown = asked(gateway)
    yes = {"decision": "approve", "digest": shown["digest"]}

    gateway.decide(yes, approval_id).assert_problem(404, "approval-not-found")


def test_a_system_that_gives_no_answer_is_a_reason_to_repeat(gateway: Gateway) -> None:
    gateway.world.outside.stripe_reachable = False

    answer = gateway.ask()

    answer.assert_problem(503, "try-again")
    assert answer.headers["retry-after"] == "2"
    assert gateway.world.runs() == []


def test_a_fault_of_ours_is_told_without_a_word_about_its_cause(gateway: Gateway) -> None:
    def broken() -> Any:
        raise ValueError("zebra.lovelace@marker.example")

    gateway.joined = broken

    answer = gateway.ask()

    answer.assert_problem(500, "internal-error")
    assert "marker" not in answer.text
    assert "marker" not in str(gateway.lines)
    assert gateway.attempts[-1]["error"] == "ValueError"
