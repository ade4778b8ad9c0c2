"""The fake keeps the promises that the recovery tests lean on."""

import json
from typing import Any

import pytest

from ledger.provider import ProviderFault
from tests.fakes.benches import fake_stripe
from tests.fakes.clock import FakeClock
from tests.fakes.stripe import KEY_LIFETIME_SECONDS, FakeStripe, Fault
from tests.fakes.stripe_endpoints import SEARCH_LAG_SECONDS

_REFUND = b"charge=ch_1&amount=3000&metadata[effect_id]=eff_1"


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def fake(clock: FakeClock) -> FakeStripe:
    return fake_stripe(clock)


def _post(
    fake: FakeStripe, body: bytes = _REFUND, key: str = "key_1", path: str = "/v1/refunds"
) -> tuple[int, dict[str, Any]]:
    answer = fake("POST", path, {"Idempotency-Key": key}, body)
    return answer.status, json.loads(answer.body)


def _get(fake: FakeStripe, path: str) -> tuple[int, dict[str, Any]]:
    answer = fake("GET", path, {}, b"")
    return answer.status, json.loads(answer.body)


def _error(content: dict[str, Any]) -> tuple[str, str | None]:
    return content["error"]["type"], content["error"].get("code")


def test_one_key_one_refund_until_the_key_is_a_day_old(fake: FakeStripe, clock: FakeClock) -> None:
    first = _post(fake)
    clock.pass_ms((KEY_LIFETIME_SECONDS - 1) * 1000)
    assert _post(fake) == first
    assert len(fake.world.refunds) == 1

    clock.pass_ms(1 * 1000)
    assert _post(fake) != first
    assert len(fake.world.refunds) == 2


@pytest.mark.parametrize(
    ("body", "path"),
    [(_REFUND + b"&reason=duplicate", "/v1/refunds"), (_REFUND, "/v1/subscriptions/sub_1")],
)
def test_a_known_key_with_another_body_or_endpoint_is_refused(
    fake: FakeStripe, body: bytes, path: str
) -> None:
    _post(fake)

    status, content = _post(fake, body, path=path)

    assert (status, _error(content)) == (400, ("idempotency_error", None))
    assert len(fake.world.refunds) == 1
    assert not fake.world.subscriptions["sub_1"].metadata


def test_a_key_in_flight_is_refused_without_effect(fake: FakeStripe) -> None:
    fake.keys_in_flight.add("key_1")

    status, content = _post(fake)

    assert (status, content["error"]["code"]) == (409, "idempotency_key_in_use")
    assert fake.world.refunds == []


def test_a_500_after_the_commit_is_saved_and_replayed(fake: FakeStripe) -> None:
    fake.fail_next(Fault.COMMIT_THEN_500)

    assert _post(fake)[0] == 500
    assert _post(fake)[0] == 500
    assert len(fake.world.refunds) == 1


@pytest.mark.parametrize(
    ("fault", "refunds"),
    [(Fault.COMMIT_THEN_DROP, 1), (Fault.DROP_BEFORE_COMMIT, 0), (Fault.NEVER_SENT, 0)],
)
def test_a_dropped_connection_tells_nothing_about_the_effect(
    fake: FakeStripe, fault: Fault, refunds: int
) -> None:
    fake.fail_next(fault)

    with pytest.raises(ProviderFault):
        _post(fake)

    assert len(fake.world.refunds) == refunds


@pytest.mark.parametrize(
    ("fault", "status"),
    [(Fault.LOCK_TIMEOUT, 429), (Fault.UNAVAILABLE, 503), (Fault.UNAUTHORIZED, 401)],
)
def test_an_answer_before_the_endpoint_ran_leaves_the_key_unused(
    fake: FakeStripe, fault: Fault, status: int
) -> None:
    fake.fail_next(fault)

    assert _post(fake)[0] == status
    assert fake.world.refunds == []
    assert _post(fake)[0] == 200


@pytest.mark.parametrize(
    ("refunded_minor", "code"), [(10_000, "charge_already_refunded"), (8_000, None)]
)
def test_no_more_is_refunded_than_is_left(
    fake: FakeStripe, refunded_minor: int, code: str | None
) -> None:
    fake.world.make_refund("ch_1", refunded_minor)

    status, content = _post(fake)

    assert (status, _error(content)) == (400, ("invalid_request_error", code))


def test_a_failed_refund_gives_its_amount_back(fake: FakeStripe, clock: FakeClock) -> None:
    fake.world.next_refund_script = ((0, "succeeded"), (10, "failed"))
    fake.world.make_refund("ch_1", 10_000)
    assert _post(fake)[0] == 400

    clock.pass_ms(10 * 1000)

    assert _post(fake, key="key_2")[0] == 200


def test_refunds_are_listed_newest_first_in_pages_of_ten(fake: FakeStripe) -> None:
    made = [fake.world.make_refund("ch_1", 1).id for _ in range(11)]

    _, first = _get(fake, "/v1/refunds?charge=ch_1")
    _, second = _get(fake, f"/v1/refunds?charge=ch_1&starting_after={first['data'][-1]['id']}")

    assert [found["id"] for found in first["data"]] == made[:0:-1]
    assert first["has_more"]
    assert [found["id"] for found in second["data"]] == made[:1]
    assert not second["has_more"]


def test_search_trails_and_does_not_cover_refunds(fake: FakeStripe, clock: FakeClock) -> None:
    assert _get(fake, "/v1/charges/search?query=x")[1]["data"] == []
    clock.pass_ms(SEARCH_LAG_SECONDS * 1000)
    assert [found["id"] for found in _get(fake, "/v1/charges/search?query=x")[1]["data"]] == [
        "ch_1"
    ]
    assert _get(fake, "/v1/refunds/search?query=x")[0] == 404


def test_the_request_log_keeps_method_path_key_body_and_time(
    fake: FakeStripe, clock: FakeClock
) -> None:
    _post(fake)

    (seen,) = fake.posts("/v1/refunds")
    assert (seen.method, seen.path, seen.key, seen.body, seen.at_ms) == (
        "POST",
        "/v1/refunds",
        "key_1",
        _REFUND,
        clock.now_ms(),
    )
