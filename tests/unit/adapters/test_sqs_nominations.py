"""The queue of due runs over SQS's own answers."""

from collections.abc import Iterator
from typing import Any
from unittest import mock

import boto3
import pytest
from botocore.exceptions import ClientError, ReadTimeoutError
from moto import mock_aws

from adapters.aws_clients import sqs_client
from adapters.sqs_nominations import SqsNominations
from ledger.errors import InvariantBroken, RetryLater
from tests.ledger_table import FAKE_ACCOUNT
from tests.unit.adapters.faulty_client import FaultyClient, fails

RUN_IDS = [f"run_{number}" for number in range(23)]


@pytest.fixture
def queue_url() -> Iterator[str]:
    """Yield the address of an empty queue."""
    with mock.patch.dict("os.environ", FAKE_ACCOUNT), mock_aws():
        yield boto3.client("sqs").create_queue(QueueName="nominations")["QueueUrl"]


def bodies(queue_url: str) -> list[str]:
    """Return all that is in the queue."""
    sqs = boto3.client("sqs")
    found: list[str] = []
    while answer := sqs.receive_message(QueueUrl=queue_url, MaxNumberOfMessages=10).get("Messages"):
        found += [message["Body"] for message in answer]
    return found


def test_given_more_runs_than_a_request_takes_when_put_then_each_is_one_message(
    queue_url: str,
) -> None:
    client = FaultyClient(sqs_client())

    assert SqsNominations(client, queue_url).put(RUN_IDS) == 23
    assert sorted(bodies(queue_url)) == sorted(RUN_IDS)
    assert [len(request["Entries"]) for _, request in client.calls] == [10, 10, 3]


def test_given_no_runs_when_put_then_nothing_is_sent(queue_url: str) -> None:
    client = FaultyClient(sqs_client())

    assert SqsNominations(client, queue_url).put([]) == 0
    assert client.calls == []


def test_given_a_request_that_is_taken_in_part_when_put_then_only_that_is_counted() -> None:
    client = mock.Mock()
    client.send_message_batch.return_value = {
        "Successful": [{"Id": "0"}, {"Id": "1"}],
        "Failed": [{"Id": "2", "Code": "InternalError", "SenderFault": False}],
    }

    assert SqsNominations(client, "https://queue.invalid").put(RUN_IDS[:3]) == 2
    client.send_message_batch.assert_called_once()


def refused(code: str, status: int) -> ClientError:
    response: Any = {
        "Error": {"Code": code, "Message": "about zebra@marker.example"},
        "ResponseMetadata": {"HTTPStatusCode": status},
    }
    return ClientError(response, "SendMessageBatch")


@pytest.mark.parametrize(
    ("error", "meaning"),
    [
        (ReadTimeoutError(endpoint_url="https://sqs.invalid"), RetryLater),
        (refused("ServiceUnavailable", 503), RetryLater),
        (refused("ThrottlingException", 400), RetryLater),
        (refused("AccessDenied", 403), InvariantBroken),
        (refused("AWS.SimpleQueueService.NonExistentQueue", 400), InvariantBroken),
    ],
    ids=["no answer", "unavailable", "throttled", "forbidden", "no such queue"],
)
def test_given_an_error_when_put_then_it_says_what_the_caller_can_do(
    error: Exception, meaning: type[Exception]
) -> None:
    client = FaultyClient(None, send_message_batch=[fails(error)])

    with pytest.raises(meaning) as raised:
        SqsNominations(client, "https://queue.invalid").put(RUN_IDS[:1])

    assert "zebra" not in str(raised.value)
