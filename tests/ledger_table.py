"""The ledger's table in an AWS that lives in this process."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING
from unittest import mock

import boto3
from moto import mock_aws

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
def ledger_table() -> Iterator["DynamoDBClient"]:
    """Yield the store's own kind of client, with an empty table of the deployed shape."""
    with mock.patch.dict("os.environ", FAKE_ACCOUNT), mock_aws():
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
            ],
            GlobalSecondaryIndexes=[
                {
                    "IndexName": "due",
                    "KeySchema": [
                        {"AttributeName": "due_shard", "KeyType": "HASH"},
                        {"AttributeName": "due_at_ms", "KeyType": "RANGE"},
                    ],
                    "Projection": {"ProjectionType": "KEYS_ONLY"},
                }
            ],
        )
        yield dynamodb_client()
