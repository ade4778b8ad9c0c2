"""Keys at the edges that a client cannot reach from outside."""

import pytest

from sandbox.stripe_proxy.answers import Answer, answer, error, invalid_request
from sandbox.stripe_proxy.clock import Clock
from sandbox.stripe_proxy.idempotency import KEY_LIFETIME_SECONDS, KeyStore, fingerprint_of

_OK = answer(200, {"id": "re_1"})


@pytest.fixture
def clock() -> Clock:
    return Clock(system_time=lambda: 1_000_000.0)


@pytest.fixture
def keys(clock: Clock) -> KeyStore:
    return KeyStore(clock)


def test_parameters_in_another_order_are_the_same_request() -> None:
    first = fingerprint_of("POST", "/v1/refunds", "charge=ch_1&amount=10")

    assert first == fingerprint_of("POST", "/v1/refunds", "amount=10&charge=ch_1")
    assert first != fingerprint_of("POST", "/v1/refunds", "amount=11&charge=ch_1")
    assert first != fingerprint_of("POST", "/v1/charges", "charge=ch_1&amount=10")


def test_key_at_exactly_its_lifetime_is_forgotten(keys: KeyStore, clock: Clock) -> None:
    keys.begin("k", "request")
    keys.finish("k", _OK)

    clock.advance(KEY_LIFETIME_SECONDS - 1)
    assert keys.begin("k", "request") == _OK
    clock.advance(1)

    assert keys.begin("k", "request") is None


def test_key_in_flight_is_not_forgotten_however_old(keys: KeyStore, clock: Clock) -> None:
    keys.begin("k", "request")
    clock.advance(2 * KEY_LIFETIME_SECONDS)

    refused = keys.begin("k", "request")

    assert refused is not None
    assert refused.status == 409


@pytest.mark.parametrize(
    "refusal",
    [
        invalid_request("No such charge", "resource_missing"),
        error(404, "invalid_request_error", "Not Found"),
        error(429, "invalid_request_error", "lock_timeout"),
    ],
    ids=["bad-parameter", "not-found", "rate-limited"],
)
def test_refusal_before_execution_leaves_the_key_free(keys: KeyStore, refusal: Answer) -> None:
    keys.begin("k", "request")
    keys.finish("k", refusal)

    assert keys.begin("k", "another request") is None


@pytest.mark.parametrize(
    "outcome",
    [
        error(402, "card_error", "Declined"),
        error(500, "api_error", "Unknown"),
        invalid_request("Refunded", "charge_already_refunded"),
    ],
    ids=["declined", "server-error", "already-refunded"],
)
def test_outcome_of_an_execution_is_replayed(keys: KeyStore, outcome: Answer) -> None:
    keys.begin("k", "request")
    keys.finish("k", outcome)

    assert keys.begin("k", "request") == outcome


def test_key_longer_than_stripe_takes_is_refused(keys: KeyStore) -> None:
    refused = keys.begin("k" * 256, "request")

    assert refused is not None
    assert refused.status == 400
