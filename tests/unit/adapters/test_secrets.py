"""A provider's key is kept for minutes, and never shown."""

import json
from typing import Any

import pytest

from adapters.secrets import MAX_AGE_MS, ApiKeySecret
from ledger.errors import InvariantBroken, RetryLater
from tests.builders import NOW_MS
from tests.unit.adapters.faulty_client import FaultyClient, fails, read_timeout, service_error

SECRET_ID = "recovery-ledger/stripe"


class _Vault:
    """Secrets Manager with one secret."""

    def __init__(self) -> None:
        self.text = json.dumps({"api_key": "sk_first", "signing_secret": "whsec_first"})

    def get_secret_value(self, *, SecretId: str) -> dict[str, str]:  # noqa: N803
        assert SecretId == SECRET_ID
        return {"SecretString": self.text}


class _World:
    def __init__(self) -> None:
        self.now = NOW_MS
        self.vault = _Vault()
        self.faults: list[Any] = []
        self.client = FaultyClient(self.vault, get_secret_value=self.faults)
        self.secret = ApiKeySecret(self.client, SECRET_ID, self)  # type: ignore[arg-type]

    def now_ms(self) -> int:
        return self.now

    def rotate(self) -> None:
        self.vault.text = json.dumps({"api_key": "sk_second", "signing_secret": "whsec_second"})


def test_given_a_key_when_asked_for_often_then_it_is_read_once() -> None:
    world = _World()

    assert {world.secret.api_key() for _ in range(5)} == {"sk_first"}
    world.now += MAX_AGE_MS - 1
    world.secret.api_key()

    assert len(world.client.calls) == 1


def test_given_a_rotated_key_when_the_kept_one_is_too_old_then_the_new_one_is_returned() -> None:
    world = _World()
    world.secret.api_key()
    world.rotate()

    world.now += MAX_AGE_MS

    assert world.secret.api_key() == "sk_second"


def test_given_a_rotated_key_when_refreshed_then_the_new_one_is_returned_from_then_on() -> None:
    world = _World()
    world.secret.api_key()
    world.rotate()

    assert world.secret.api_key() == "sk_first"
    assert world.secret.refresh() == "sk_second"
    assert world.secret.api_key() == "sk_second"


def test_given_both_in_one_secret_when_both_are_asked_for_then_it_is_read_once() -> None:
    world = _World()

    assert (world.secret.api_key(), world.secret.signing_secret()) == ("sk_first", "whsec_first")
    assert len(world.client.calls) == 1


def test_given_a_rolled_signing_secret_when_the_kept_one_is_too_old_then_it_is_read() -> None:
    world = _World()
    world.secret.signing_secret()
    world.rotate()
    assert world.secret.signing_secret() == "whsec_first"

    world.now += MAX_AGE_MS

    assert world.secret.signing_secret() == "whsec_second"


@pytest.mark.parametrize("more", [{}, {"signing_secret": ""}, {"signing_secret": 5}])
def test_given_no_signing_secret_when_asked_for_then_loud_and_the_key_still_works(
    more: dict[str, Any],
) -> None:
    world = _World()
    world.vault.text = json.dumps({"api_key": "sk_first", **more})

    with pytest.raises(InvariantBroken, match="signing_secret"):
        world.secret.signing_secret()
    assert world.secret.api_key() == "sk_first"


@pytest.mark.parametrize(
    "error", [read_timeout(), service_error("InternalServiceError", 500)], ids=["silent", "500"]
)
def test_given_no_answer_when_asked_then_retry_later_and_the_next_call_reads_again(
    error: Exception,
) -> None:
    world = _World()
    world.faults.append(fails(error))

    with pytest.raises(RetryLater):
        world.secret.api_key()

    assert world.secret.api_key() == "sk_first"


@pytest.mark.parametrize("code", ["ResourceNotFoundException", "AccessDeniedException"])
def test_given_a_secret_that_cannot_be_read_when_asked_then_loud(code: str) -> None:
    world = _World()
    world.faults.append(fails(service_error(code)))

    with pytest.raises(InvariantBroken, match=code):
        world.secret.api_key()


@pytest.mark.parametrize(
    "text",
    ["sk_plain", '{"api_key": "sk_cut', "{}", '{"api_key": ""}', '{"api_key": 5}', '["sk_x"]', ""],
)
def test_given_a_secret_of_another_shape_when_asked_then_refused_without_showing_it(
    text: str,
) -> None:
    world = _World()
    world.vault.text = text

    with pytest.raises(InvariantBroken) as caught:
        world.secret.api_key()

    assert "sk_" not in str(caught.value)
    assert caught.value.__context__ is None


def test_given_a_key_when_the_object_is_printed_then_the_key_is_not_in_it() -> None:
    world = _World()
    world.secret.api_key()

    assert "sk_first" not in repr(world.secret)
