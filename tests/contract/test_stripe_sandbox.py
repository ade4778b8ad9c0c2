"""The Stripe sandbox, driven by the real `stripe` library, keeps Stripe's promises."""

import os
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
import stripe

from sandbox.stripe_seed import (
    CHARGE_AMOUNT_MINOR,
    REFUND_AMOUNT_MINOR,
    Subscriber,
    create_subscriber,
    stripe_client,
)
from sandbox.stripe_server import API_KEY, StripeSandbox, start_stripe

_DAY_SECONDS = 24 * 60 * 60
# Only a bound: each test releases what it holds.
_HOLD_SECONDS = 120
_CHILD_TIMEOUT_SECONDS = 60


@dataclass(frozen=True)
class _World:
    """One customer with one paid charge."""

    sandbox: StripeSandbox
    client: stripe.StripeClient
    subscriber: Subscriber

    @property
    def charge_id(self) -> str:
        return self.subscriber.charge_id

    def refund(self, key: str | None, amount: int = REFUND_AMOUNT_MINOR, **more: Any) -> Any:
        options: Any = {} if key is None else {"idempotency_key": key}
        params: Any = {"charge": self.charge_id, "amount": amount, **more}
        return self.client.v1.refunds.create(params, options)

    def refunds(self) -> list[Any]:
        """What the provider holds, read past the proxy."""
        answer = httpx.get(
            f"{self.sandbox.behind_url}/v1/refunds",
            params={"charge": self.charge_id, "limit": 100},
            auth=(API_KEY, ""),
        )
        held: list[Any] = answer.raise_for_status().json()["data"]
        return held

    def script(self, fault: str, **more: Any) -> None:
        match = {"method": "POST", "path": "/v1/refunds"}
        self.sandbox.arm({"match": match, "fault": fault, **more})


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StripeSandbox]:
    sandbox = start_stripe(tmp_path_factory.mktemp("stripe"), killable_below=os.getpid())
    yield sandbox
    sandbox.stop()


@pytest.fixture
def world(running: StripeSandbox) -> _World:
    running.reset()
    client = stripe_client(running.url)
    return _World(running, client, create_subscriber(client, "customer@example.com"))


def test_same_key_and_request_replays_the_first_answer(world: _World) -> None:
    first = world.refund("key-1", metadata={"effect_id": "E1"})

    second = world.refund("key-1", metadata={"effect_id": "E1"})

    assert second.id == first.id
    assert [refund["id"] for refund in world.refunds()] == [first.id]
    replayed = [entry["replayed"] for entry in world.sandbox.requests("POST", "/v1/refunds")]
    assert replayed == [False, True]


def test_same_key_with_another_body_is_refused_without_effect(world: _World) -> None:
    world.refund("key-1", amount=1000)

    with pytest.raises(stripe.IdempotencyError) as refused:
        world.refund("key-1", amount=2000)

    assert refused.value.http_status == 400
    assert [refund["amount"] for refund in world.refunds()] == [1000]


def test_same_key_at_another_endpoint_is_refused_without_effect(world: _World) -> None:
    world.refund("key-1", amount=1000)
    customers = len(world.client.v1.customers.list().data)

    with pytest.raises(stripe.IdempotencyError):
        world.client.v1.customers.create({"email": "x@example.com"}, {"idempotency_key": "key-1"})

    assert len(world.client.v1.customers.list().data) == customers


def test_same_key_while_the_first_request_is_in_flight_is_refused(world: _World) -> None:
    world.script("hold", seconds=_HOLD_SECONDS)
    with ThreadPoolExecutor(max_workers=1) as pool:
        held = pool.submit(world.refund, "key-1")
        _until(lambda: len(world.sandbox.requests("POST", "/v1/refunds")) == 1)

        with pytest.raises(stripe.StripeError) as refused:
            world.refund("key-1")

        assert _status_and_code(refused.value) == (409, "idempotency_key_in_use")
        world.sandbox.release_held()
        assert held.result().status == "succeeded"
    assert len(world.refunds()) == 1


@pytest.mark.parametrize(
    ("advanced_seconds", "expected_refunds"),
    [(_DAY_SECONDS - 60, 1), (_DAY_SECONDS + 1, 2)],
    ids=["remembered-just-before-24-hours", "forgotten-after-24-hours"],
)
def test_key_is_pruned_after_24_hours(
    world: _World, advanced_seconds: int, expected_refunds: int
) -> None:
    world.refund("key-1", amount=1000)

    world.sandbox.advance_clock(advanced_seconds)
    world.refund("key-1", amount=1000)

    assert len(world.refunds()) == expected_refunds


def test_refund_beyond_what_is_left_of_the_charge_is_refused(world: _World) -> None:
    world.refund("key-1")

    with pytest.raises(stripe.InvalidRequestError, match="greater than unrefunded amount"):
        world.refund("key-2")

    assert [refund["amount"] for refund in world.refunds()] == [REFUND_AMOUNT_MINOR]


def test_refund_of_a_charge_fully_refunded_is_refused_by_code(world: _World) -> None:
    world.refund("key-1", amount=CHARGE_AMOUNT_MINOR)

    with pytest.raises(stripe.InvalidRequestError) as refused:
        world.refund("key-2", amount=1)

    assert refused.value.code == "charge_already_refunded"


def test_refund_without_amount_takes_what_is_left(world: _World) -> None:
    world.refund("key-1", amount=4000)

    rest = world.client.v1.refunds.create({"charge": world.charge_id})

    assert rest.amount == CHARGE_AMOUNT_MINOR - 4000


def test_failed_refund_gives_its_amount_back_to_the_charge(world: _World) -> None:
    failed = world.refund("key-1", amount=CHARGE_AMOUNT_MINOR)
    world.sandbox.show(failed.id, {"status": "failed"})

    again = world.refund("key-2", amount=CHARGE_AMOUNT_MINOR)

    assert world.client.v1.refunds.retrieve(failed.id).status == "failed"
    assert again.status == "succeeded"


def test_two_refunds_at_once_cannot_exceed_the_charge(world: _World) -> None:
    def outcome(key: str) -> str:
        try:
            return str(world.refund(key).status)
        except stripe.InvalidRequestError:
            return "refused"

    with ThreadPoolExecutor(max_workers=4) as pool:
        outcomes = list(pool.map(outcome, [f"key-{number}" for number in range(4)]))

    assert sorted(outcomes) == ["refused", "refused", "refused", "succeeded"]


def test_refunds_are_listed_newest_first_in_pages(world: _World) -> None:
    made = [world.refund(None, amount=10).id for _ in range(12)]

    first = world.client.v1.refunds.list({"charge": world.charge_id})
    second = world.client.v1.refunds.list(
        {"charge": world.charge_id, "starting_after": first.data[-1].id}
    )

    assert [refund.id for refund in first.data + second.data] == made[::-1]
    assert (len(first.data), first.has_more, second.has_more) == (10, True, False)


def test_refund_keeps_its_mark_and_reason(world: _World) -> None:
    made = world.refund("k", reason="requested_by_customer", metadata={"effect_id": "E1"})

    read = world.client.v1.refunds.retrieve(made.id)

    assert read.reason == "requested_by_customer"
    assert read.to_dict()["metadata"] == {"effect_id": "E1"}


def test_subscription_keeps_metadata_given_on_update(world: _World) -> None:
    subscription_id = world.subscriber.subscription_id

    world.client.v1.subscriptions.update(
        subscription_id,
        {
            "cancel_at_period_end": True,
            "metadata": {"effect_id": "E2"},
            "cancellation_details": {"comment": "asked to"},
        },
    )

    read = world.client.v1.subscriptions.retrieve(subscription_id)
    assert read.cancel_at_period_end is True
    assert read.to_dict()["metadata"] == {"effect_id": "E2"}


def test_log_holds_the_exact_body_key_and_status_and_no_credential(world: _World) -> None:
    world.refund("key-1", amount=1000)

    (entry,) = world.sandbox.requests("POST", "/v1/refunds")

    assert entry["body"] == f"charge={world.charge_id}&amount=1000"
    assert (entry["idempotency_key"], entry["status"]) == ("key-1", 200)
    assert API_KEY not in str(entry)


def test_commit_then_drop_writes_and_answers_nothing(world: _World) -> None:
    world.script("commit_then_drop")

    with pytest.raises(stripe.APIConnectionError):
        world.refund("key-1")

    (held,) = world.refunds()
    assert world.refund("key-1").id == held["id"]
    assert world.sandbox.requests("POST", "/v1/refunds")[0]["status"] is None


def test_drop_before_commit_writes_nothing_and_leaves_the_key_free(world: _World) -> None:
    world.script("drop_before_commit")

    with pytest.raises(stripe.APIConnectionError):
        world.refund("key-1", amount=1000)

    assert world.refunds() == []
    assert world.refund("key-1", amount=2000).amount == 2000


def test_commit_then_500_writes_and_replays_the_500(world: _World) -> None:
    world.script("commit_then_500")

    for _ in range(2):
        with pytest.raises(stripe.APIError) as failed:
            world.refund("key-1")
        assert failed.value.http_status == 500

    assert len(world.refunds()) == 1


def test_commit_then_hold_answers_late_but_has_written(world: _World) -> None:
    world.script("commit_then_hold", seconds=_HOLD_SECONDS)
    with ThreadPoolExecutor(max_workers=1) as pool:
        held = pool.submit(world.refund, "key-1")
        _until(lambda: len(world.refunds()) == 1)

        assert not held.done()
        world.sandbox.release_held()
        (early,) = world.refunds()
        assert held.result().id == early["id"]


@pytest.mark.parametrize(
    ("status", "code", "error"),
    [
        (402, "card_declined", stripe.CardError),
        (400, "parameter_invalid", stripe.InvalidRequestError),
    ],
)
def test_refuse_answers_the_scripted_refusal_and_writes_nothing(
    world: _World, status: int, code: str, error: type[stripe.StripeError]
) -> None:
    world.script("refuse", status=status, code=code)

    with pytest.raises(error) as refused:
        world.refund("key-1")

    assert _status_and_code(refused.value) == (status, code)
    assert world.refunds() == []


def test_fault_meets_only_its_endpoint_and_only_so_often(world: _World) -> None:
    world.script("refuse", times=2)
    world.client.v1.refunds.list({"charge": world.charge_id})

    for key in ("key-1", "key-2"):
        with pytest.raises(stripe.CardError):
            world.refund(key)

    assert world.refund("key-3").status == "succeeded"
    assert len(world.sandbox.fired()) == 2


def test_script_with_an_unknown_fault_is_refused(world: _World) -> None:
    with pytest.raises(httpx.HTTPStatusError) as refused:
        world.script("set_on_fire")

    assert refused.value.response.status_code == 400


def test_commit_then_kill_writes_and_ends_the_calling_process(world: _World) -> None:
    world.script("commit_then_kill")

    worker = _refund_in_a_child(world, "key-1")

    assert worker.returncode == -9
    (fired,) = world.sandbox.fired()
    assert (fired["killed"], fired["killed_pid"]) == (True, worker.pid)
    assert not Path(f"/proc/{worker.pid}").exists()
    (held,) = world.refunds()
    assert world.refund("key-1").id == held["id"]


def test_kill_spares_a_process_outside_the_allowed_tree(tmp_path: Path) -> None:
    idle = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    fenced = start_stripe(tmp_path, killable_below=idle.pid)
    try:
        client = stripe_client(fenced.url)
        fault = {"match": {"method": "POST", "path": "/v1/customers"}, "fault": "commit_then_kill"}
        fenced.arm(fault)

        # This test's own process is at the other end; it lives to see the connection end.
        with pytest.raises(stripe.APIConnectionError):
            client.v1.customers.create({"email": "x@example.com"})

        (fired,) = fenced.fired()
        assert (fired["killed"], fired["killed_pid"]) == (False, None)
        assert idle.poll() is None
    finally:
        fenced.stop()
        idle.communicate(b"\n")


def _refund_in_a_child(world: _World, key: str) -> subprocess.Popen[bytes]:
    program = f"""
        import stripe
        client = stripe.StripeClient(
            {API_KEY!r}, base_addresses={{"api": {world.sandbox.url!r}}}, max_network_retries=0
        )
        client.v1.refunds.create(
            {{"charge": {world.charge_id!r}, "amount": {REFUND_AMOUNT_MINOR}}},
            {{"idempotency_key": {key!r}}},
        )
    """
    command = [sys.executable, "-c", textwrap.dedent(program)]
    worker = subprocess.Popen(command)
    worker.wait(_CHILD_TIMEOUT_SECONDS)
    return worker


def _status_and_code(failure: stripe.StripeError) -> tuple[int | None, str | None]:
    """The library gives only some of its errors a code; the body always has it."""
    body: Any = failure.json_body
    return failure.http_status, body["error"].get("code")


def _until(true: Callable[[], bool]) -> None:
    """Waits for something another thread or process is about to bring about."""
    for _ in range(600):
        if true():
            return
        time.sleep(0.05)
    raise AssertionError("what was waited for did not come about")
