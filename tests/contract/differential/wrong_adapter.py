"""Faults that are planted in the DynamoDB adapter itself, for as long as a context lasts."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any
from unittest.mock import patch

from adapters import dynamodb_items, dynamodb_store
from adapters.dynamodb_store import DynamoDbStore
from ledger.errors import LedgerMoved

_put = DynamoDbStore._put


def _own_writes_unknown(*_: object) -> None:
    raise LedgerMoved


def _put_without(word: str) -> Callable[..., Any]:
    def put(store: DynamoDbStore, item: Any, condition: str | None = None) -> Any:
        return _put(store, item, None if condition and word in condition else condition)

    return put


def _head_unchecked(store: DynamoDbStore, change: Any) -> Any:
    return _put(store, dynamodb_items.head_item(change))


WRONG_ADAPTERS: Mapping[str, Callable[[], AbstractContextManager[object]]] = {
    "its own write is never recognised": lambda: patch.object(
        DynamoDbStore, "_accept_own", _own_writes_unknown
    ),
    "personal fields are put over the mark of their erasure": lambda: patch.object(
        DynamoDbStore, "_put", _put_without("erased")
    ),
    "the head is put whatever it was": lambda: patch.object(
        DynamoDbStore, "_put_head", _head_unchecked
    ),
    "numbers of events are not padded": lambda: patch.object(
        dynamodb_items, "event_key", lambda sequence: f"EVENT#{sequence}"
    ),
    "an id that no key can hold is sent": lambda: patch.object(
        dynamodb_store, "is_id", lambda _text: True
    ),
}
