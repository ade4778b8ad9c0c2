"""Breakers in the ledger's table, each in a partition of its own beside the runs.

No call is repeated: what cannot be read or stored at once is done without.
"""

import json
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from boto3.dynamodb.types import TypeDeserializer, TypeSerializer
from botocore.exceptions import ClientError
from pydantic import ValidationError

from adapters.aws_faults import LOST_ANSWERS, Fault, describe, fault_of
from ledger.breaker import Breaker
from ledger.errors import LedgerUnavailable

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

PROVIDER_PREFIX = "PROVIDER#"
BREAKER = "BREAKER"


class DynamoDbBreakers:
    """``ledger.breaker.Breakers`` on DynamoDB. ``client`` must not retry by itself."""

    def __init__(self, client: "DynamoDBClient", table_name: str) -> None:
        """Use the table."""
        self._client = client
        self._table_name = table_name

    def load(self, provider: str) -> Breaker | None:
        """Return the breaker by the cheapest read there is: half a unit, eventually consistent."""
        try:
            item = self._client.get_item(TableName=self._table_name, Key=_key(provider)).get("Item")
        except (ClientError, *LOST_ANSWERS) as error:
            raise _unavailable(error) from error
        return None if item is None else _breaker(item)

    def save(self, breaker: Breaker) -> bool:
        """Return whether nobody else has stored one since."""
        stored = breaker.model_copy(update={"revision": breaker.revision + 1})
        put: dict[str, Any] = {
            "TableName": self._table_name,
            "Item": {
                **_key(breaker.provider),
                "revision": {"N": str(stored.revision)},
                "record": TypeSerializer().serialize(stored.model_dump(mode="json")),
            },
            "ConditionExpression": "attribute_not_exists(pk)",
        }
        if breaker.revision:
            put["ConditionExpression"] = "revision = :expected"
            put["ExpressionAttributeValues"] = {":expected": {"N": str(breaker.revision)}}
        try:
            self._client.put_item(**put)
        except (ClientError, *LOST_ANSWERS) as error:
            if fault_of(error) is Fault.CONDITION:
                return False
            raise _unavailable(error) from error
        return True


def _key(provider: str) -> dict[str, Any]:
    return {"pk": {"S": f"{PROVIDER_PREFIX}{provider}"}, "sk": {"S": BREAKER}}


def _breaker(item: Any) -> Breaker:  # noqa: ANN401  an item as boto3 returns it
    record = TypeDeserializer().deserialize(item["record"])
    try:
        return Breaker.model_validate_json(json.dumps(record, default=_integer))
    except ValidationError as error:
        raise LedgerUnavailable("The stored breaker is none; calls pass without it.") from error


def _integer(value: object) -> int:
    if isinstance(value, Decimal):
        return int(value)
    raise TypeError(f"A stored {type(value).__name__} is no part of a breaker.")


def _unavailable(error: Exception) -> LedgerUnavailable:
    return LedgerUnavailable(f"The breaker's state gave no answer: {describe(error)}.")
