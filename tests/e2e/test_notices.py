"""What providers tell unasked, as it arrives: signed, through API Gateway and EventBridge."""

import httpx
import pytest

from ledger.event import EventKind
from ledger.transitions import EffectState, RunState
from sandbox.stripe_seed import REFUND_AMOUNT_MINOR
from sandbox.waiting import wait_for
from tests.e2e.conftest import PATIENCE_SECONDS, Person
from tests.e2e.evidence import assert_refunded_once_and_told_once

REFUND = {"method": "POST", "path": "/v1/refunds"}
# Longer than a call may take, so that the worker gives up without an answer.
HELD_SECONDS = 12


def confirmed_by(person: Person, run_id: str, operation: str) -> list[str]:
    """Who confirmed the operation's effect, once for each confirmation."""
    effect = person.ledger(run_id).newest_effect(operation)
    return [
        event.actor.actor_id
        for event in person.events(run_id)
        if effect and event.kind is EventKind.EFFECT_CONFIRMED and event.subject == effect.effect_id
    ]


def wait_until_confirmed(person: Person, run_id: str, operation: str) -> None:
    wait_for(
        lambda: confirmed_by(person, run_id, operation) or None,
        f"the confirmation of the {operation}",
        PATIENCE_SECONDS,
    )


def test_a_refund_whose_answer_is_lost_is_confirmed_by_the_providers_notice(
    person: Person,
) -> None:
    person.sandbox.stripe.arm(
        {"match": REFUND, "fault": "commit_then_hold", "seconds": HELD_SECONDS}
    )
    for kind in ("refund.created", "charge.refunded"):
        person.sandbox.stripe.arm_notice({"type": kind, "fault": "twice"})

    run_id = person.ask()
    person.approve(run_id)
    wait_until_confirmed(person, run_id, "refund")

    assert confirmed_by(person, run_id, "refund") == ["stripe-notice"]
    person.wait_until_closed(run_id)
    assert_refunded_once_and_told_once(person, run_id)
    assert confirmed_by(person, run_id, "refund") == ["stripe-notice"]
    assert len(person.sandbox.stripe.requests("POST", "/v1/refunds")) == 1


def test_a_refund_at_the_dashboard_is_remarked_and_one_that_fails_later_reopens_the_run(
    person: Person,
) -> None:
    run_id = person.ask()
    person.approve(run_id)
    person.wait_until_closed(run_id)
    refund = person.ledger(run_id).newest_effect("refund")
    assert refund is not None
    assert refund.evidence is not None

    theirs = person.sandbox.stripe.change_at_dashboard(
        "refunds", {"charge": person.subscriber.charge_id, "amount": 10_000 - REFUND_AMOUNT_MINOR}
    )

    def remarked() -> bool | None:
        found = person.ledger(run_id).newest_effect("refund")
        return bool(found and any(theirs["id"] in remark for remark in found.remarks)) or None

    wait_for(remarked, "a remark", PATIENCE_SECONDS)
    assert person.ledger(run_id).run.state is RunState.COMPLETED

    person.sandbox.stripe.show(refund.evidence.record_id, {"status": "failed"})

    def reopened() -> bool | None:
        return person.ledger(run_id).run.state is RunState.REVIEW or None

    wait_for(reopened, "a review", PATIENCE_SECONDS)


def test_a_mail_whose_answer_is_lost_is_confirmed_by_the_mail_services_event(
    person: Person,
) -> None:
    person.sandbox.mail.switches.lose_answers = 1

    run_id = person.ask()
    person.approve(run_id)
    wait_until_confirmed(person, run_id, "receipt")

    [message_id] = person.sandbox.mail.switches.accepted_unheard
    receipt = person.ledger(run_id).newest_effect("receipt")
    assert receipt is not None
    assert receipt.state is EffectState.CONFIRMED
    assert receipt.evidence is not None
    assert receipt.evidence.record_id == message_id
    told = [
        event.actor.actor_id
        for event in person.events(run_id)
        if event.kind is EventKind.LATE_RESULT_RECORDED
    ]
    assert told == ["mail-event"]
    assert len(confirmed_by(person, run_id, "receipt")) == 1
    person.wait_until_closed(run_id)
    assert_refunded_once_and_told_once(person, run_id)


@pytest.mark.parametrize("header", [None, "t=1,v1=00"])
def test_what_stripe_did_not_sign_does_not_get_in(person: Person, header: str | None) -> None:
    headers = {"Stripe-Signature": header} if header else {}

    answer: httpx.Response = person.api.call(
        None, "POST", "/notices/stripe", {"type": "refund.created"}, headers
    )

    assert answer.status_code == 400
    assert answer.headers["content-type"] == "application/problem+json"
