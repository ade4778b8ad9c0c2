"""Records of a given size, measured by DynamoDB's published rules and not by the stores' own."""

from typing import Any

from ledger.record import Record

# Where a record has room for a text of any length.
ROOM = {
    "Run": "request",
    "Event": "details",
    "Effect": "bound",
    "PersonalFields": "fields",
}


def grown[T: Record](record: T, size_bytes: int) -> T:
    """Return the record with a text that brings it to ``size_bytes``, give or take a few."""
    room = ROOM[type(record).__name__]
    missing = size_bytes - stored_bytes(record.model_dump(mode="json"))
    filler = {f"{type(record).__name__} filler": "v" * max(0, missing - 32)}
    plain = record.model_dump()
    return type(record).model_validate({**plain, room: {**plain[room], **filler}})


def stored_bytes(value: Any) -> int:
    """Return what a value takes: text in UTF-8, a byte for two digits, and the containers."""
    match value:
        case None | bool():
            return 1
        case str():
            return len(value.encode())
        case int() | float():
            return len(str(value)) // 2 + 2
        case dict():
            return 3 + sum(1 + stored_bytes(k) + stored_bytes(v) for k, v in value.items())
        case _:
            return 3 + sum(1 + stored_bytes(item) for item in value)
