"""What is taken of the mail service's events, and what of them goes no further."""

import json
from typing import Any
from unittest import mock

import pytest
from aws_lambda_powertools.utilities.typing import LambdaContext

import events.mail_event
from events.mail_event import MailEvent, handle_mail_event, handler
from ledger.transitions import EffectState
from runtime.boundary import Crashed
from tests.fakes.ses import SentMail
from tests.recovery.invariants import check_invariants
from tests.recovery.logs import log_into
from tests.recovery.mail_feed import mail_event, tell_of
from tests.recovery.outside import CUSTOMER_EMAIL
from tests.recovery.scenario import finish, refund_of
from tests.recovery.world import World

FAILED = {"bounceType": "Permanent", "bounceSubType": "NoEmail"}


@pytest.fixture
def world() -> World:
    """Return a world whose run is completed."""
    world = World()
    finish(world)
    return world


def receipt(world: World) -> SentMail:
    (mail,) = world.ses.sent
    return mail


def with_tags(mail: SentMail, **tags: str) -> SentMail:
    return SentMail(**{**vars(mail), "tags": {**mail.tags, **tags}})


@pytest.mark.parametrize(
    "kind",
    ["Email Opened", "Email Clicked", "Email Delivery Delayed", "Sending Status Enabled", ""],
)
def test_other_events_change_nothing(world: World, kind: str) -> None:
    before = world.ledger

    assert tell_of(world, kind, receipt(world)) == "ignored"
    assert world.ledger == before


@pytest.mark.parametrize(
    "tags",
    [
        {"run_id": ""},
        {"run_id": "run_" + "a" * 26},
        {"effect_id": "eff_" + "a" * 26},
        {"effect_id": "zebra.lovelace@marker.example"},
        {"run_id": "run_" + "a" * 26 + "\n"},
    ],
)
def test_a_mail_that_is_not_ours_changes_nothing(world: World, tags: dict[str, str]) -> None:
    before = world.ledger

    assert tell_of(world, "Email Bounced", with_tags(receipt(world), **tags)) == "not ours"
    assert world.ledger == before


def test_tags_that_name_an_effect_of_another_provider_change_nothing(world: World) -> None:
    before = world.ledger
    tagged = with_tags(receipt(world), effect_id=refund_of(world.ledger).effect_id)

    assert tell_of(world, "Email Bounced", tagged) == "not ours"
    assert world.ledger == before


@pytest.mark.parametrize("message_id", ["", CUSTOMER_EMAIL, "a b", "x" * 200, "m@example.com", "é"])
def test_a_message_id_of_another_shape_is_not_kept(world: World, message_id: str) -> None:
    before = world.ledger
    mail = SentMail(**{**vars(receipt(world)), "message_id": message_id})

    assert tell_of(world, "Email Bounced", mail) == "ignored"
    assert world.ledger == before


@pytest.mark.parametrize("kind", ["Permanent", "Undetermined", "Transient"])
def test_a_bounce_is_the_last_word_but_for_what_may_be_an_answer(world: World, kind: str) -> None:
    bounce = {"bounceType": kind, "bounceSubType": "MailboxFull"}

    assert tell_of(world, "Email Bounced", receipt(world), bounce=bounce) == "bounced"
    effect = world.ledger.newest_effect("receipt")
    assert effect is not None
    assert effect.state is EffectState.CONTRADICTED


def test_what_the_record_says_is_read_from_the_frozen_request_and_nothing_from_the_event(
    world: World,
) -> None:
    with mock.patch.object(events.mail_event, "tell") as told:
        tell_of(world, "Email Bounced", receipt(world), bounce=FAILED)

    (_, _, _, record, _), _ = told.call_args
    assert record.fields == {
        "customer_id": "cus_1",
        "refund_id": world.stripe.world.refunds[0].id,
        "amount_minor": 7_900,
        "currency": "USD",
    }
    assert record.record_id == receipt(world).message_id
    assert "@" not in record.model_dump_json()


def test_addresses_of_an_event_are_in_no_log_no_trail_and_no_record(world: World) -> None:
    recipient = {"emailAddress": CUSTOMER_EMAIL, "diagnosticCode": f"no {CUSTOMER_EMAIL} here"}
    for kind, more in (
        ("Email Sent", {"send": {}}),
        ("Email Delivered", {"delivery": {"recipients": [CUSTOMER_EMAIL]}}),
        ("Email Bounced", {"bounce": {**FAILED, "bouncedRecipients": [recipient]}}),
        ("Email Complaint Received", {"complaint": {"complainedRecipients": [recipient]}}),
    ):
        assert CUSTOMER_EMAIL in json.dumps(mail_event(kind, receipt(world), **more))
        tell_of(world, kind, receipt(world), **more)

    check_invariants_but_the_status_told(world)


def check_invariants_but_the_status_told(world: World) -> None:
    """Check all; the customer who was told "completed" is told otherwise on their next look."""
    world.customers[0].statuses.clear()
    check_invariants(world)


def without(path: str) -> Any:
    """Return an event that lacks a member."""
    mail = SentMail("message-1", CUSTOMER_EMAIL, "s", "t", {}, 0)
    event = mail_event("Email Sent", mail)
    *parents, last = path.split(".")
    found = event
    for name in parents:
        found = found[name]
    del found[last]
    return event


@pytest.mark.parametrize(
    "event",
    [
        {},
        without("detail-type"),
        without("detail"),
        without("detail.mail"),
        without("detail.mail.messageId"),
        {"detail-type": "Email Sent", "detail": {"mail": {"messageId": [CUSTOMER_EMAIL]}}},
        {"detail-type": "Email Sent", "detail": {"mail": CUSTOMER_EMAIL}},
        {"detail-type": CUSTOMER_EMAIL * 20, "detail": {"mail": {"messageId": "m"}}},
    ],
    ids=range(8),
)
def test_a_garbled_event_fails_without_a_word_of_it(world: World, event: Any) -> None:
    before = world.ledger
    with log_into(world.processes.log), pytest.raises(Crashed) as caught:
        handler(event, LambdaContext())

    assert world.ledger == before
    assert CUSTOMER_EMAIL not in str(caught.value) + world.processes.log.getvalue()


def test_the_handler_says_what_was_done(world: World) -> None:
    joined = world.outside.join(world.orchestrator)
    with (
        mock.patch.object(events.mail_event, "ports", return_value=joined),
        log_into(world.processes.log),
    ):
        said = handler(mail_event("Email Delivered", receipt(world)), LambdaContext())

    assert said == {"outcome": "delivered"}
    line = json.loads(world.processes.log.getvalue().splitlines()[-1])
    assert (line["outcome"], line["run_id"]) == ("delivered", world.ledger.run.run_id)


def test_an_event_may_hold_more_than_is_known_today(world: World) -> None:
    event = mail_event("Email Delivered", receipt(world), news={"a": 1})
    event["detail"]["mail"]["more"] = [1]
    parsed = MailEvent.model_validate(event)
    joined = world.outside.join(world.orchestrator)

    assert handle_mail_event(joined, parsed) == "delivered"
