"""The operator's two routes: see a run with what may be done about it, and do one of these."""

from dataclasses import replace
from typing import Any

import pytest

from api.act_on_run import handler as act_on_run
from api.operator_view import TRAIL_EVENTS
from api.operator_view import handler as operator_view
from ledger.event import EventKind
from ledger.transitions import EffectState, RunState
from tests.builders import a_change
from tests.fakes.stripe import Fault
from tests.unit.api.gateway import AGENT, CUSTOMER, OPERATOR, STRANGER, Gateway

ACTION_FIELDS = {"actor_id", "action", "target", "outcome", "reason"}
REASON = "the desk asked"


def in_review(gateway: Gateway) -> None:
    """Take the run to a review: the provider refuses the refund for good."""
    gateway.world.stripe.fail_next(Fault.UNAUTHORIZED, path_prefix="/v1/refunds")
    gateway.world.run()
    assert gateway.world.ledger.run.state is RunState.REVIEW


def offer_of(view: Any, action: str) -> dict[str, Any]:
    """Return the offer of an action."""
    (found,) = (offer for offer in view["offers"] if offer["action"] == action)
    return dict(found)


def test_an_operator_sees_facts_and_offers(gateway: Gateway) -> None:
    in_review(gateway)

    answer = gateway.view()

    assert answer.status == 200
    assert answer.headers["cache-control"] == "no-store"
    facts = answer.body["facts"]
    assert facts["state"] == "review"
    assert facts["view_version"] == gateway.world.ledger.run.sequence
    assert [found["state"] for found in facts["effects"]] == ["confirmed", "rejected"]
    fresh = offer_of(answer.body, "request_fresh_customer_approval")
    assert fresh["allowed"]
    assert fresh["consequence"]["writes"] == ["Refund", "Receipt email"]
    assert fresh["consequence"]["moves_money"]
    assert offer_of(answer.body, "resume_from_checkpoint")["refused_because"]


def test_the_view_tells_what_led_here(gateway: Gateway) -> None:
    in_review(gateway)

    answer = gateway.view()

    assert answer.body["amount"] == "USD 79.00"
    assert answer.body["exponents"] == {"USD": 2}
    assert answer.body["summary"].startswith("Renewal cancellation sub_1 is confirmed; refund ")
    asked = [(found["label"], found["amount"]) for found in answer.body["asked"]]
    assert asked == [("Renewal cancellation", ""), ("Refund", "USD 79.00")]
    trail = answer.body["trail"]
    assert [found["sequence"] for found in trail] == [
        found.sequence for found in gateway.world.events
    ]
    assert trail[-1]["sequence"] == answer.body["facts"]["view_version"]


def test_of_a_long_trail_the_newest_events_are_shown(gateway: Gateway) -> None:
    in_review(gateway)
    ledger = gateway.world.ledger
    filler = a_change(
        "filler", expected_sequence=ledger.run.sequence, event_count=60, run=ledger.run
    )
    gateway.world.store.commit(filler)

    trail = gateway.view().body["trail"]

    last = gateway.world.ledger.run.sequence
    assert [event["sequence"] for event in trail] == list(range(last - TRAIL_EVENTS + 1, last + 1))


def test_an_action_is_done_once_and_answered_with_the_view_after_it(gateway: Gateway) -> None:
    in_review(gateway)
    version = gateway.view().body["facts"]["view_version"]
    body = {"action": "mark_for_engineering_review", "view_version": version, "reason": REASON}

    done = gateway.act(body)
    again = gateway.act(body)

    assert done.status == 200
    assert done.body["facts"]["engineering"] is True
    assert done.body == gateway.view().body
    assert (again.status, again.body) == (200, done.body)
    (event,) = (e for e in gateway.world.events if e.kind is EventKind.OPERATOR_ACTED)
    assert (event.actor.kind, event.actor.actor_id) == ("operator", OPERATOR["sub"])
    assert (event.reason, event.prior_state) == (REASON, "review")


def test_a_fresh_approval_leads_to_one_refund_under_another_key(gateway: Gateway) -> None:
    in_review(gateway)

    assert gateway.choose("request_fresh_customer_approval").status == 200
    gateway.world.customer.next_at_ms = gateway.world.clock.now_ms()
    gateway.world.run()

    assert gateway.world.ledger.run.state is RunState.COMPLETED
    refused, made = gateway.world.stripe.posts("/v1/refunds")
    assert refused.key != made.key
    first, second = (e for e in gateway.world.ledger.effects if e.operation == "refund")
    assert {first.state, second.state} == {EffectState.REJECTED, EffectState.CONFIRMED}
    assert gateway.world.stripe.world.refunded_minor("ch_1") == 7_900
    assert len(gateway.world.ses.events("run_id", gateway.run_id)) == 1


@pytest.mark.parametrize("claims", [CUSTOMER, AGENT], ids=["customer", "agent"])
def test_only_operators_see_and_act(gateway: Gateway, claims: dict[str, str]) -> None:
    in_review(gateway)
    before = gateway.world.ledger
    body = {
        "action": "close_without_further_action",
        "view_version": before.run.sequence,
        "reason": REASON,
    }

    gateway.view(claims).assert_problem(403, "not-permitted")
    gateway.act(body, claims).assert_problem(403, "not-permitted")

    assert gateway.world.ledger == before


def test_another_tenants_run_is_not_there(gateway: Gateway) -> None:
    in_review(gateway)
    before = gateway.world.ledger
    body = {
        "action": "close_without_further_action",
        "view_version": before.run.sequence,
        "reason": REASON,
    }

    gateway.view(STRANGER).assert_problem(404, "run-not-found")
    gateway.act(body, STRANGER).assert_problem(404, "run-not-found")

    assert gateway.world.ledger == before


@pytest.mark.parametrize("run_id", ["", "run_x", "run_" + "a" * 26, "bob@example.com"])
def test_a_run_that_does_not_exist_is_not_there(gateway: Gateway, run_id: str) -> None:
    gateway.ask()

    gateway.view(run_id=run_id).assert_problem(404, "run-not-found")

    assert "bob" not in str(gateway.lines)


@pytest.mark.parametrize(
    ("changes", "status", "kind"),
    [
        ({"action": "pay_twice"}, 422, "invalid-request"),
        ({"action": None}, 422, "invalid-request"),
        ({"action": 7}, 422, "invalid-request"),
        ({"view_version": "1"}, 422, "invalid-request"),
        ({"view_version": 1.0}, 422, "invalid-request"),
        ({"view_version": True}, 422, "invalid-request"),
        ({"view_version": 0}, 422, "invalid-request"),
        ({"view_version": 1}, 409, "view-changed"),
        ({"view_version": 10**9}, 409, "view-changed"),
        ({"reason": ""}, 422, "reason-missing"),
        ({"reason": "  \n"}, 422, "reason-missing"),
        ({"reason": "x" * 501}, 422, "reason-missing"),
        ({"reason": None}, 422, "invalid-request"),
        ({"reason": "\ud800"}, 400, "malformed-body"),
        ({"effect_id": 7}, 422, "invalid-request"),
        ({"effect_id": "eff_nobody"}, 409, "action-not-allowed"),
        ({"action": "send_again"}, 409, "action-not-allowed"),
        ({"action": "resume_from_checkpoint"}, 409, "action-not-allowed"),
        ({"amount_minor": 1}, 422, "invalid-request"),
    ],
    ids=lambda changes: ascii(changes)[:50],
)
def test_an_action_that_is_not_so_changes_nothing(
    gateway: Gateway, changes: dict[str, Any], status: int, kind: str
) -> None:
    in_review(gateway)
    before = gateway.world.ledger
    right = {
        "action": "mark_for_engineering_review",
        "view_version": before.run.sequence,
        "reason": REASON,
    }

    gateway.act({**right, **changes}).assert_problem(status, kind)

    assert gateway.world.ledger == before
    assert gateway.act(right).status == 200


@pytest.mark.parametrize("missing", ["action", "view_version", "reason"])
def test_an_action_without_all_of_it_changes_nothing(gateway: Gateway, missing: str) -> None:
    in_review(gateway)
    before = gateway.world.ledger
    body = {"action": "close_without_further_action", "view_version": 1, "reason": REASON}
    del body[missing]

    gateway.act(body).assert_problem(422, "invalid-request")

    assert gateway.world.ledger == before


def test_a_refused_attempt_leaves_a_line_of_the_same_fields_as_one_that_was_done(
    gateway: Gateway,
) -> None:
    in_review(gateway)
    close = {"action": "close_without_further_action", "view_version": 1, "reason": REASON}

    gateway.act(close, STRANGER)
    gateway.act(close, AGENT)
    gateway.act(close)
    gateway.act({**close, "action": "bob@example.com"})
    gateway.act("{")
    gateway.world.outside.stripe_reachable = False
    gateway.choose("mark_for_engineering_review")

    lines = [line for line in gateway.attempts if line["action"] != "operator_view"]
    assert [(line["actor_id"], line["action"], line["outcome"]) for line in lines] == [
        ("sub-stranger", "close_without_further_action", "run-not-found"),
        ("sub-agent", "close_without_further_action", "not-permitted"),
        ("sub-operator", "close_without_further_action", "view-changed"),
        ("sub-operator", "act_on_run", "invalid-request"),
        ("sub-operator", "act_on_run", "malformed-body"),
        ("sub-operator", "mark_for_engineering_review", "done"),
    ]
    assert all(set(line) >= ACTION_FIELDS for line in lines)
    assert {line["target"] for line in lines} == {gateway.run_id}
    assert all(line["reason"] for line in lines[:-1])
    assert "bob" not in str(gateway.lines)


def test_a_decision_that_was_refused_leaves_a_line_too(gateway: Gateway) -> None:
    in_review(gateway)
    (approval,) = gateway.world.ledger.approvals
    no = {"decision": "decline", "digest": approval.digest}

    gateway.decide(no, approval.approval_id).assert_problem(409, "already-decided")

    line = gateway.attempts[-1]
    assert line["actor_id"] == CUSTOMER["sub"]
    assert (line["action"], line["outcome"]) == ("decide", "already-decided")
    assert line["target"] == f"{gateway.run_id}/{approval.approval_id}"


def test_a_store_that_gives_no_answer_leaves_a_line_too(gateway: Gateway) -> None:
    in_review(gateway)
    version = gateway.world.ledger.run.sequence
    gateway.break_store()

    gateway.act(
        {"action": "close_without_further_action", "view_version": version, "reason": REASON}
    ).assert_problem(503, "try-again")

    line = gateway.attempts[-1]
    assert (line["outcome"], line["error"]) == ("try-again", "LedgerUnavailable")
    assert set(line) >= ACTION_FIELDS
    assert gateway.world.ledger.run.state is RunState.REVIEW


@pytest.mark.parametrize(
    ("claims", "actor_id"),
    [
        ({**OPERATOR, "custom:tenant_id": ""}, OPERATOR["sub"]),
        ({name: OPERATOR[name] for name in ("sub", "cognito:groups")}, OPERATOR["sub"]),
        ({**OPERATOR, "sub": ""}, "unknown"),
        ({**OPERATOR, "sub": ["bob@example.com"]}, "unknown"),
        ({}, "unknown"),
        (None, "unknown"),
    ],
    ids=["tenant empty", "no tenant", "subject empty", "subject no text", "no claims", "no token"],
)
def test_given_a_token_that_lacks_something_when_refused_then_the_line_says_what_is_known(
    gateway: Gateway, claims: object, actor_id: str
) -> None:
    in_review(gateway)

    gateway.act({"action": "close_without_further_action"}, claims).assert_problem(
        403, "not-permitted"
    )

    line = gateway.attempts[-1]
    assert (line["actor_id"], line["target"]) == (actor_id, gateway.run_id)
    assert line["action"] == "act_on_run"


def test_given_a_body_that_cannot_be_decoded_when_refused_then_the_line_says_who_and_of_what(
    gateway: Gateway,
) -> None:
    in_review(gateway)
    path = {"run_id": gateway.run_id}

    answer = gateway.send(act_on_run, OPERATOR, "@@@", path, isBase64Encoded=True)

    answer.assert_problem(400, "malformed-body")
    line = gateway.attempts[-1]
    assert (line["actor_id"], line["target"]) == (OPERATOR["sub"], gateway.run_id)


def test_given_a_path_that_holds_no_id_when_refused_then_the_line_marks_that_and_repeats_nothing(
    gateway: Gateway,
) -> None:
    in_review(gateway)

    gateway.view(run_id="bob@example.com").assert_problem(404, "run-not-found")
    gateway.reviews()

    view, reviews = gateway.attempts[-2:]
    assert (view["target"], reviews["target"]) == ("unknown", "")
    assert "bob" not in str(gateway.lines)


def test_given_an_event_that_names_no_caller_when_it_breaks_then_the_line_marks_what_is_not_known(
    gateway: Gateway,
) -> None:
    in_review(gateway)
    path = {"run_id": gateway.run_id}

    gateway.send(operator_view, OPERATOR, path=path, requestContext=None).assert_problem(
        500, "internal-error"
    )

    line = gateway.attempts[-1]
    assert (line["actor_id"], line["target"]) == ("unknown", gateway.run_id)


def test_given_a_provider_that_is_no_longer_registered_when_looked_at_then_the_run_can_be_closed(
    gateway: Gateway,
) -> None:
    in_review(gateway)
    ports = gateway.joined()
    left = {name: ports.providers[name] for name in ports.providers if name != "stripe_refunds"}
    gateway.joined = lambda: replace(ports, providers=left)

    view = gateway.view()

    assert view.status == 200
    resume = offer_of(view.body, "resume_from_checkpoint")
    assert resume["refused_because"].startswith("No longer registered: stripe_refunds.")
    assert gateway.choose("close_without_further_action").body["facts"]["state"] == "closed"
