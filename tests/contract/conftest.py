"""The stores that share one contract."""

from collections.abc import Iterator

import pytest

from adapters.dynamodb_store import DynamoDbStore
from adapters.memory_store import MemoryStore
from ledger.store import LedgerStore
from tests.ledger_table import TABLE_NAME, ledger_table


@pytest.fixture(params=["dynamodb", "memory"])
def store(request: pytest.FixtureRequest) -> Iterator[LedgerStore]:
    """Yield an empty store."""
    if request.param == "memory":
        yield MemoryStore()
        return
    with ledger_table() as client:
        yield DynamoDbStore(client, TABLE_NAME, sleep=_no_sleep, random=lambda: 0.0)


def _no_sleep(seconds: float) -> None:
    raise AssertionError(f"Nothing here has to wait, but the store slept {seconds} s.")
