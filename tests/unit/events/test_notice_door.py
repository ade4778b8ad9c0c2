"""The one route that anybody may call: what is no notice of Stripe's gets nowhere."""

import base64
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from io import StringIO
from typing import Any, cast
from unittest import mock

import pytest
from aws_lambda_powertools.utilities.typing import LambdaContext

import events.stripe_notice
from events.stripe_notice import MIN_REMAINING_MS, handler
from ledger.errors import InvariantBroken, LedgerMoved, RetryLater
from ledger.event import Actor
from providers.stripe_notice import MAX_BODY_BYTES
from tests.fakes.benches import fake_stripe, library
from tests.fakes.clock import FakeClock, FakeTimeLeft
from tests.recovery.logs import log_into
from tests.recovery.webhook import SIGNING_SECRET, notice, signature

RUN_ID = "run_" + "a" * 26
EFFECTS = ["eff_" + letter * 26 for letter in "bcd"]
FIELDS = {"actor_id", "action", "target", "outcome"}


@dataclass
class Door:
    """The function behind the route, with what it did."""

    clock: FakeClock = field(default_factory=FakeClock)
    looked: list[str] = field(default_factory=list)
    secrets_read: int = 0
    joined: int = 0
    fails: dict[str, Exception] = field(default_factory=dict)
    secret_fails: Exception | None = None
    remaining_ms: int = 28_000
    look_takes_ms: int = 0
    log: StringIO = field(default_factory=StringIO)

    def __post_init__(self) -> None:
        self.stripe = fake_stripe(self.clock)
        for effect_id in EFFECTS:
            marks = {"run_id": RUN_ID, "effect_id": effect_id}
            self.stripe.world.make_refund("ch_1", 1_000, marks)

    def signing_secret(self) -> str:
        self.secrets_read += 1
        if self.secret_fails:
            raise self.secret_fails
        return SIGNING_SECRET

    def ports_and_stripe(self) -> tuple[object, object]:
        self.joined += 1
        return object(), library(self.stripe)

    def look_again(self, _ports: object, run_id: str, effect_id: str, actor: Actor) -> None:
        assert (run_id, actor.actor_id) == (RUN_ID, "stripe-notice")
        self.looked.append(effect_id)
        self.clock.pass_ms(self.look_takes_ms)
        if effect_id in self.fails:
            raise self.fails[effect_id]

    def time_left(self, _context: object) -> FakeTimeLeft:
        return FakeTimeLeft(self.clock, self.clock.now_ms() + self.remaining_ms)

    def send(self, event: Mapping[str, object]) -> dict[str, Any]:
        with log_into(self.log):
            return cast("dict[str, Any]", handler(event, LambdaContext()))

    def signed(self, body: bytes, **event: object) -> dict[str, Any]:
        header = signature(body, self.clock.now_ms())
        whole = {"headers": {"stripe-signature": header}, "body": body.decode(), **event}
        return self.send(whole)

    @property
    def line(self) -> dict[str, Any]:
        """Return the one line that the request left."""
        (found,) = (
            line
            for line in map(json.loads, self.log.getvalue().splitlines())
            if line["message"] == "attempt"
        )
        return cast("dict[str, Any]", found)


@pytest.fixture
def door() -> Iterator[Door]:
    door = Door()
    wiring: dict[str, Any] = {
        "CLOCK": door.clock,
        "look_again": door.look_again,
        "ports_and_stripe": door.ports_and_stripe,
        "signing_secret": door.signing_secret,
        "time_left": door.time_left,
    }
    with mock.patch.multiple(events.stripe_notice, **wiring):
        yield door


ABOUT_CHARGE = notice("charge.refunded", {"id": "ch_1", "object": "charge"})


def assert_problem(answer: Mapping[str, Any], status: int, kind: str) -> None:
    body = json.loads(answer["body"])
    assert (answer["statusCode"], body["status"]) == (status, status)
    assert answer["headers"]["content-type"] == "application/problem+json"
    assert answer["headers"]["cache-control"] == "no-store"
    assert body["type"] == f"urn:recovery-ledger:problem:{kind}"
    assert body["detail"].endswith(".")


@pytest.mark.parametrize(
    "event",
    [
        {},
        {"headers": None, "body": None},
        {"headers": {}, "body": ABOUT_CHARGE.decode()},
        {"headers": {"stripe-signature": ""}, "body": ABOUT_CHARGE.decode()},
        {"headers": {"authorization": "Bearer x"}, "body": ABOUT_CHARGE.decode()},
    ],
)
def test_without_a_signature_not_even_the_secret_is_read(
    door: Door, event: Mapping[str, object]
) -> None:
    assert_problem(door.send(event), 400, "notice-unsigned")
    assert (door.secrets_read, door.joined, door.looked) == (0, 0, [])
    assert door.stripe.requests == []


@pytest.mark.parametrize(
    ("body", "encoded"),
    [("x" * (2 * MAX_BODY_BYTES), False), ("%%%", True), ("\ud800", False), ("é", True)],
    ids=["large", "not-base64", "half-a-pair", "not-ascii-base64"],
)
def test_a_body_that_cannot_be_read_is_refused_before_the_secret_is(
    door: Door, body: str, encoded: bool
) -> None:
    event = {"headers": {"Stripe-Signature": "t=1,v1=00"}, "body": body, "isBase64Encoded": encoded}

    assert_problem(door.send(event), 400, "notice-malformed")
    assert door.secrets_read == 0


@pytest.mark.parametrize(
    ("header", "kind"),
    [
        ("t=1,v1=00", "notice-too-old"),
        (f"t={FakeClock().now_ms() // 1000},v1={'0' * 64}", "notice-unsigned"),
        ("not a signature", "notice-unsigned"),
        ("t=1,v1=山", "notice-too-old"),
    ],
)
def test_a_signature_that_does_not_fit_reads_nothing_of_ours_and_nothing_at_stripe(
    door: Door, header: str, kind: str
) -> None:
    answer = door.send({"headers": {"stripe-signature": header}, "body": ABOUT_CHARGE.decode()})

    assert_problem(answer, 400, kind)
    assert (door.joined, door.looked, door.stripe.requests) == (0, [], [])


@pytest.mark.parametrize("body", [b"", b"no json", b"[]", b"{}", "é".encode()])
def test_a_signed_body_that_is_no_event_is_refused(door: Door, body: bytes) -> None:
    assert_problem(door.signed(body), 400, "notice-malformed")
    assert door.joined == 0


def test_a_refusal_leaves_a_line_of_typed_fields_and_nothing_of_the_request(door: Door) -> None:
    body = b"zebra.lovelace@marker.example"
    door.send({"headers": {"stripe-signature": "t=1,v1=zebra"}, "body": body.decode()})

    assert door.line.keys() >= FIELDS | {"reason"}
    assert door.line["outcome"] == "notice-too-old"
    assert "zebra" not in door.log.getvalue()


@pytest.mark.parametrize(
    "body",
    [
        notice("customer.updated", {"id": "cus_1"}),
        notice("refund.created", {"id": "re_1", "charge": None}),
        notice("refund.created", {"id": "re_1", "charge": "zebra.lovelace@marker.example"}),
    ],
)
def test_a_notice_about_nothing_of_ours_is_acknowledged_and_followed_nowhere(
    door: Door, body: bytes
) -> None:
    assert door.signed(body)["statusCode"] == 200
    assert (door.joined, door.looked) == (0, [])
    assert "zebra" not in door.log.getvalue()


@pytest.mark.parametrize("name", ["stripe-signature", "Stripe-Signature", "STRIPE-SIGNATURE"])
@pytest.mark.parametrize("encoded", [False, True])
def test_every_effect_at_the_charge_is_looked_at_again(
    door: Door, name: str, encoded: bool
) -> None:
    sent = base64.b64encode(ABOUT_CHARGE) if encoded else ABOUT_CHARGE
    headers = {name: signature(ABOUT_CHARGE, door.clock.now_ms())}

    answer = door.send({"headers": headers, "body": sent.decode(), "isBase64Encoded": encoded})

    assert answer["statusCode"] == 200
    assert sorted(door.looked) == EFFECTS
    assert (door.line["target"], door.line["count"]) == ("ch_1", 3)


@pytest.mark.parametrize(
    "error",
    [LedgerMoved("Somebody was faster."), InvariantBroken("A bug."), RuntimeError("zebra")],
)
def test_one_effect_that_fails_hides_no_other_and_the_notice_comes_again(
    door: Door, error: Exception
) -> None:
    door.fails[EFFECTS[2]] = error  # the newest, which is looked at first

    answer = door.signed(ABOUT_CHARGE)

    assert_problem(answer, 503, "try-again")
    assert answer["headers"]["retry-after"]
    assert sorted(door.looked) == EFFECTS
    assert "zebra" not in door.log.getvalue() + answer["body"]


def test_what_does_not_fit_into_the_time_is_left_for_the_next_delivery(door: Door) -> None:
    door.look_takes_ms = door.remaining_ms - MIN_REMAINING_MS + 1

    assert_problem(door.signed(ABOUT_CHARGE), 503, "try-again")
    assert len(door.looked) == 1


@pytest.mark.parametrize(
    "error", [RetryLater("No answer."), InvariantBroken('The secret has no "signing_secret".')]
)
def test_without_the_secret_nothing_is_taken_for_forged(door: Door, error: Exception) -> None:
    door.secret_fails = error

    assert_problem(door.signed(ABOUT_CHARGE), 503, "try-again")
    assert door.joined == 0


def test_a_charge_that_our_key_cannot_see_is_a_fault_and_not_an_empty_list(door: Door) -> None:
    assert_problem(door.signed(notice("charge.refunded", {"id": "ch_2"})), 503, "try-again")
