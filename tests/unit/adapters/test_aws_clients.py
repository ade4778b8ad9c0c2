"""Clients send a request as often as is safe, and wait no longer than the store counts on."""

from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import boto3
import pytest
from botocore.awsrequest import AWSResponse
from botocore.compat import HTTPHeaders
from botocore.exceptions import ClientError

from adapters.aws_clients import (
    CONNECT_TIMEOUT_SECONDS,
    READ_TIMEOUT_SECONDS,
    dynamodb_client,
    secrets_client,
    sqs_client,
    step_functions_client,
)
from adapters.aws_faults import Fault
from adapters.patience import GIVES_UP_AFTER_SECONDS, PACES
from ledger.claim import LEDGER_WRITE_MARGIN_SECONDS
from providers.ses_client import SES_CONFIG
from tests.ledger_table import FAKE_ACCOUNT


@pytest.fixture(autouse=True)
def account() -> Iterator[None]:
    """Give the clients a region and keys that open nothing."""
    with mock.patch.dict("os.environ", FAKE_ACCOUNT):
        yield


class _Body:
    """An empty answer."""

    def stream(self) -> Iterator[bytes]:
        yield b""


def _sends_until_given_up(client: Any, call: Callable[[Any], object]) -> int:
    sends = []

    def answer(request: Any, **_: object) -> AWSResponse:
        sends.append(request.url)
        return AWSResponse(request.url, 500, HTTPHeaders(), _Body())

    client.meta.events.register("before-send", answer)
    with pytest.raises(ClientError):
        call(client)
    return len(sends)


@pytest.mark.parametrize(
    ("make", "call"),
    [
        pytest.param(
            dynamodb_client,
            lambda client: client.get_item(TableName="ledger", Key={"pk": {"S": "1"}}),
            id="dynamodb",
        ),
        pytest.param(
            lambda: boto3.client("sesv2", config=SES_CONFIG),
            lambda client: client.send_email(Content={}),
            id="mail",
        ),
    ],
)
def test_given_a_server_error_when_called_then_the_client_does_not_send_again(
    make: Callable[[], Any], call: Callable[[Any], object]
) -> None:
    assert _sends_until_given_up(make(), call) == 1


@pytest.mark.parametrize(
    ("make", "call"),
    [
        pytest.param(
            step_functions_client,
            lambda client: client.describe_execution(executionArn="arn"),
            id="step functions",
        ),
        pytest.param(
            secrets_client, lambda client: client.get_secret_value(SecretId="s"), id="secrets"
        ),
        pytest.param(
            sqs_client,
            lambda client: client.send_message_batch(QueueUrl="https://q.invalid", Entries=[]),
            id="queue",
        ),
    ],
)
def test_given_a_server_error_when_a_safe_call_is_made_then_it_is_repeated_once(
    make: Callable[[], Any], call: Callable[[Any], object]
) -> None:
    with mock.patch("time.sleep"):
        assert _sends_until_given_up(make(), call) == 2


def test_given_any_client_when_made_then_its_timeouts_are_short() -> None:
    clients: list[Any] = [
        dynamodb_client(),
        step_functions_client(),
        secrets_client(),
        sqs_client(),
    ]

    for client in clients:
        assert client.meta.config.connect_timeout == CONNECT_TIMEOUT_SECONDS
        assert client.meta.config.read_timeout == READ_TIMEOUT_SECONDS


def test_given_no_answer_at_all_when_the_store_gives_up_then_within_its_promise() -> None:
    silent_sends = PACES[Fault.NO_ANSWER].max_sends
    pauses = max(pace.max_sends for pace in PACES.values()) - 1
    longest_pause_ms = max(pace.max_pause_ms for pace in PACES.values())

    worst_seconds = silent_sends * (CONNECT_TIMEOUT_SECONDS + READ_TIMEOUT_SECONDS)
    worst_seconds += (
        sum(
            min(longest_pause_ms, PACES[Fault.THROTTLED].first_pause_ms * 2**n)
            for n in range(pauses)
        )
        / 1000
    )

    assert worst_seconds <= GIVES_UP_AFTER_SECONDS


def test_the_engine_leaves_as_much_time_for_a_write_as_the_store_may_take() -> None:
    assert GIVES_UP_AFTER_SECONDS < LEDGER_WRITE_MARGIN_SECONDS
