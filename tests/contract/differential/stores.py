"""The stores, and what moto leaves out of DynamoDB."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any, cast
from unittest import mock

from botocore.exceptions import ClientError
from botocore.signers import RequestSigner
from moto.core import responses
from moto.core.serialize import ResponseSerializer
from moto.core.utils import method_names_from_class
from moto.dynamodb.models.dynamo_type import Item

from adapters.change_check import check_change, check_form
from adapters.dynamodb_store import DynamoDbStore
from adapters.memory_store import MemoryStore
from ledger.errors import InvariantBroken
from ledger.store import Change, LedgerStore
from tests.contract.differential.calls import Side
from tests.contract.differential.true_store import Tampered
from tests.ledger_table import TABLE_NAME, ledger_table
from tests.simulation.store import SharedStore

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


class TokenKeepingClient:
    """A client that answers a repeated ``ClientRequestToken`` as DynamoDB does, and moto does not.

    A transaction that succeeded is answered again without being made; another one under its token
    is refused, for ten minutes (API reference of TransactWriteItems).
    """

    def __init__(self, client: "DynamoDBClient") -> None:
        self._client = client
        self._made: dict[str, object] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def ten_minutes_pass(self) -> None:
        """Forget every token."""
        self._made.clear()

    def transact_write_items(self, **request: Any) -> Any:
        """Make the transaction unless its token tells that it was made."""
        token = request["ClientRequestToken"]
        if token not in self._made:
            made = self._client.transact_write_items(**request)
            self._made[token] = request
            return made
        if self._made[token] == request:
            return {}
        code = "IdempotentParameterMismatchException"
        raise ClientError({"Error": {"Code": code, "Message": ""}}, "TransactWriteItems")


@contextmanager
def _quick_answers() -> Iterator[None]:
    """Spare moto and botocore what nothing here needs, which is two thirds of their work.

    Requests are not signed, and moto looks for each member of an answer under one spelling, for its
    own methods once, and copies no item: these stores put items and never change one in place.
    """
    slow = ResponseSerializer.get_value

    def get_value(serializer: ResponseSerializer, value: Any, key: str, shape: Any) -> Any:
        if type(value) is dict and (key in value or shape.parent.name == "AttributeValue"):
            return value.get(key)
        return slow(serializer, value, key, shape)

    with (
        mock.patch.object(ResponseSerializer, "get_value", get_value),
        mock.patch.object(Item, "__deepcopy__", lambda item, _memo: item),
        mock.patch.object(responses, "method_names_from_class", cache(method_names_from_class)),
        mock.patch.object(RequestSigner, "sign"),
    ):
        yield


@contextmanager
def dynamodb_sides() -> Iterator[Callable[[], Side]]:
    """Yield what makes a side with an empty table; the one made before is void then."""
    with ledger_table() as client, _quick_answers():
        shape = client.describe_table(TableName=TABLE_NAME)["Table"]

        def empty() -> Side:
            # Far quicker than a further AWS, and of the same shape.
            client.delete_table(TableName=TABLE_NAME)
            client.create_table(
                TableName=TABLE_NAME,
                BillingMode="PAY_PER_REQUEST",
                KeySchema=shape["KeySchema"],
                AttributeDefinitions=shape["AttributeDefinitions"],
                GlobalSecondaryIndexes=[
                    {
                        "IndexName": index["IndexName"],
                        "KeySchema": index["KeySchema"],
                        "Projection": index["Projection"],
                    }
                    for index in shape["GlobalSecondaryIndexes"]
                ],
            )
            keeping = TokenKeepingClient(client)
            store = DynamoDbStore(
                cast("DynamoDBClient", keeping), TABLE_NAME, sleep=_no_sleep, random=lambda: 0.0
            )
            return Side(store, keeping.ten_minutes_pass)

        yield empty


def memory_side(wrap: Callable[[LedgerStore], LedgerStore] = lambda store: store) -> Side:
    """Return a side with an empty store in memory, wrapped into whatever is planted."""
    return Side(wrap(MemoryStore()), ten_minutes_pass=lambda: None)


class _Measured(Tampered):
    """Refuses what is too large, which the simulator's store does not measure."""

    def commit(self, change: Change) -> None:
        """Pass on what is small enough; what has no form is for the store itself to refuse."""
        try:
            check_form(change)
        except InvariantBroken:
            pass
        else:
            check_change(change)
        self._store.commit(change)


def shared_side(wrap: Callable[[LedgerStore], LedgerStore] = lambda store: store) -> Side:
    """Return a side with the empty store over which most schedules are simulated.

    Its own is everything but the limits of size.
    """
    return Side(wrap(_Measured(SharedStore())), ten_minutes_pass=lambda: None)


def _no_sleep(seconds: float) -> None:
    raise AssertionError(f"Nothing here has to wait, but the store slept {seconds} s.")
