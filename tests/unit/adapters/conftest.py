"""What the adapters' tests share."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.ledger_table import ledger_table

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


@pytest.fixture
def client() -> Iterator["DynamoDBClient"]:
    """Yield a client with an empty ledger table."""
    with ledger_table() as found:
        yield found
