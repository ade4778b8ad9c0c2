"""The Stripe sandbox sends notices as Stripe does: signed, repeated, in any order."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx
import pytest
import stripe

from providers.stripe_notice import HANDLED, reference_in
from sandbox.stripe_seed import Subscriber, create_subscriber, stripe_client
from sandbox.stripe_server import SIGNING_SECRET, StripeSandbox, start_stripe

PATIENCE_SECONDS = 10.0
# Longer than a notice takes, for what must not come.
QUIET_SECONDS = 1.0


@dataclass
class Receiver:
    """Takes notices, or refuses the first few."""

    received: list[dict[str, Any]] = field(default_factory=list)
    refuse: int = 0
    url: str = ""

    def take(self, headers: Any, body: bytes) -> int:
        assert stripe.WebhookSignature.verify_header(
            body, headers["Stripe-Signature"], SIGNING_SECRET, tolerance=300
        )
        reference_in(body)
        if self.refuse > 0:
            self.refuse -= 1
            return 503
        self.received.append({**json.loads(body), "host": headers["Host"]})
        return 200

    @property
    def types(self) -> list[str]:
        return [event["type"] for event in self.received]


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StripeSandbox]:
    sandbox = start_stripe(tmp_path_factory.mktemp("stripe"))
    yield sandbox
    sandbox.stop()


@pytest.fixture
def receiver(running: StripeSandbox) -> Iterator[Receiver]:
    receiver = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(receiver.take(self.headers, body))
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    receiver.url = f"http://127.0.0.1:{server.server_address[1]}"
    running.reset()
    yield receiver
    running.reset()
    server.shutdown()
    server.server_close()
    thread.join()


@dataclass(frozen=True)
class World:
    sandbox: StripeSandbox
    client: stripe.StripeClient
    subscriber: Subscriber
    receiver: Receiver

    def refund(self, amount: int = 1_000) -> str:
        params: Any = {"charge": self.subscriber.charge_id, "amount": amount}
        return self.client.v1.refunds.create(params).id

    def wait_for(self, count: int) -> list[dict[str, Any]]:
        until(lambda: len(self.receiver.received) >= count)
        return self.receiver.received

    def script(self, fault: str, **more: Any) -> None:
        self.sandbox.arm_notice({"fault": fault, **more})


@pytest.fixture
def world(running: StripeSandbox, receiver: Receiver) -> World:
    client = stripe_client(running.url)
    subscriber = create_subscriber(client, "customer@example.com")
    running.send_notices_to(f"{receiver.url}/notices/stripe", "api.example:4566")
    return World(running, client, subscriber, receiver)


def until(reached: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not reached():
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.02)


def test_a_refund_is_told_with_itself_and_with_its_charge(world: World) -> None:
    refund_id = world.refund()

    by_type = {event["type"]: event["data"]["object"] for event in world.wait_for(2)}

    assert by_type["refund.created"]["id"] == refund_id
    assert by_type["charge.refunded"]["id"] == world.subscriber.charge_id
    assert {event["host"] for event in world.receiver.received} == {"api.example:4566"}


def test_it_is_told_though_the_answer_was_dropped(world: World) -> None:
    match = {"method": "POST", "path": "/v1/refunds"}
    world.sandbox.arm({"match": match, "fault": "commit_then_drop"})
    with pytest.raises(stripe.APIConnectionError):
        world.refund()

    world.wait_for(2)


def test_what_was_refused_is_not_told(world: World) -> None:
    with pytest.raises(stripe.InvalidRequestError):
        world.refund(1_000_000)

    time.sleep(QUIET_SECONDS)
    assert world.sandbox.notices() == []


@pytest.mark.parametrize(
    ("fields", "types"),
    [
        ({"status": "failed"}, {"refund.updated", "charge.refund.updated", "refund.failed"}),
        ({"status": "succeeded"}, {"refund.updated", "charge.refund.updated"}),
    ],
)
def test_a_refund_that_moves_by_itself_is_told(
    world: World, fields: dict[str, str], types: set[str]
) -> None:
    refund_id = world.refund()
    world.wait_for(2)
    world.receiver.received.clear()

    world.sandbox.show(refund_id, fields)

    told = world.wait_for(len(types))
    assert set(world.receiver.types) == types
    assert {event["data"]["object"]["status"] for event in told} == {fields["status"]}


def test_what_is_done_at_the_dashboard_is_told_and_in_no_log(world: World) -> None:
    subscription = f"subscriptions/{world.subscriber.subscription_id}"
    world.sandbox.change_at_dashboard(
        "refunds", {"charge": world.subscriber.charge_id, "amount": 500}
    )
    world.sandbox.change_at_dashboard(subscription, {"cancel_at_period_end": "true"})
    world.sandbox.show(world.subscriber.charge_id, {"disputed": True})

    world.wait_for(4)
    assert set(world.receiver.types) == {
        "refund.created",
        "charge.refunded",
        "customer.subscription.updated",
        "charge.dispute.created",
    }
    assert world.sandbox.requests("POST", "/v1/refunds") == []


def test_every_type_that_is_sent_is_one_that_is_followed(world: World) -> None:
    world.sandbox.show(world.refund(), {"status": "failed"})

    world.wait_for(5)
    assert set(world.receiver.types) <= set(HANDLED)


def test_a_notice_that_is_refused_comes_again_and_is_signed_anew(world: World) -> None:
    world.receiver.refuse = 3
    world.refund()

    world.wait_for(2)
    statuses = [status for sent in world.sandbox.notices() for status in sent["statuses"]]
    assert sorted(statuses) == [200, 200, 503, 503, 503]


def test_a_notice_comes_twice(world: World) -> None:
    world.script("twice", type="refund.created")
    world.refund()

    world.wait_for(3)
    assert sorted(world.receiver.types) == ["charge.refunded", "refund.created", "refund.created"]


def test_a_notice_is_dropped(world: World) -> None:
    world.script("dropped", type="refund.*")
    world.refund()

    world.wait_for(1)
    time.sleep(QUIET_SECONDS)
    assert world.receiver.types == ["charge.refunded"]
    assert [sent["dropped"] for sent in world.sandbox.notices()] == [True, False]


def test_a_notice_comes_late(world: World) -> None:
    world.script("late", type="refund.created", seconds=QUIET_SECONDS)
    world.refund()

    world.wait_for(2)
    assert world.receiver.types == ["charge.refunded", "refund.created"]


def test_a_notice_is_overtaken_and_still_says_what_was_true_when_it_was_made(world: World) -> None:
    world.script("overtaken", type="refund.created", seconds=60)
    world.script("dropped", type="charge.refunded")
    refund_id = world.refund()

    world.sandbox.show(refund_id, {"status": "failed"})

    told = world.wait_for(4)
    assert told[0]["data"]["object"]["status"] == "failed"
    [older] = [event for event in told[1:] if event["type"] == "refund.created"]
    assert older["data"]["object"]["status"] == "succeeded"


@pytest.mark.parametrize("control", ["notices", "endpoint"])
def test_a_control_that_cannot_be_understood_is_refused(world: World, control: str) -> None:
    answer = httpx.post(f"{world.sandbox.url}/_sandbox/{control}", json={"fault": "eaten"})

    assert answer.status_code == 400
    assert answer.json()["errors"]
