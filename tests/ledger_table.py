"""The ledger's table in an AWS that lives in this process."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING, Any
from unittest import mock

import boto3
from moto import mock_aws
from moto.core.botocore_stubber import BotocoreStubber

from adapters.aws_clients import dynamodb_client

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

TABLE_NAME = "ledger"
FAKE_ACCOUNT = {
    "AWS_ACCESS_KEY_ID": "testing",
    "AWS_SECRET_ACCESS_KEY": "testing",
    "AWS_DEFAULT_REGION": "eu-central-1",
}


@contextmanager
def _one_request_at_a_time() -> Iterator[None]:
    """Make each request atomic, as DynamoDB does; moto copies its tables while others write.

    Writers still meet between their requests, which is where they meet on AWS.
    """
    answer = BotocoreStubber.__call__
    lock = Lock()

    def answer_alone(stubber: BotocoreStubber, *arguments: Any, **named: Any) -> Any:
        with lock:
            return answer(stubber, *arguments, **named)

    with mock.patch.object(BotocoreStubber, "__call__", answer_alone):
        yield


@contextmanager
def ledger_table() -> Iterator["DynamoDBClient"]:
    """Yield the store's own kind of client, with an empty table of the deployed shape."""
    with mock.patch.dict("os.environ", FAKE_ACCOUNT), mock_aws(), _one_request_at_a_time():
        boto3.client("dynamodb").create_table(
            TableName=TABLE_NAME,
            BillingMode="PAY_PER_REQUEST",
            KeySchema=[
                {"AttributeName": "pk", "KeyType": "HASH"},
                {"AttributeName": "sk", "KeyType": "RANGE"},
            ],
            AttributeDefinitions=[
                {"AttributeName": "pk", "AttributeType": "S"},
                {"AttributeName": "sk", "AttributeType": "S"},
                {"AttributeName": "due_shard", "AttributeType": "S"},
                {"AttributeName": "due_at_ms", "AttributeType": "N"},
                {"AttributeName": "review_tenant", "AttributeType": "S"},
                {"AttributeName": "review_since_ms", "AttributeType": "N"},
            ],
            GlobalSecondaryIndexes=[
                {
                    "IndexName": name,
                    "KeySchema": [
                        {"AttributeName": partition, "KeyType": "HASH"},
                        {"AttributeName": order, "KeyType": "RANGE"},
                    ],
                    "Projection": {"ProjectionType": "KEYS_ONLY"},
                }
                for name, partition, order in (
                    ("due", "due_shard", "due_at_ms"),
                    ("review", "review_tenant", "review_since_ms"),
                )
            ],
        )
        yield dynamodb_client()
