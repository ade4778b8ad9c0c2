"""The store in memory is one at a time, as a transaction is."""

from unittest import mock

from adapters import memory_store
from adapters.memory_store import MemoryStore
from ledger.store import Change
from tests.builders import RUN_ID, a_change


def test_given_a_write_under_way_when_another_begins_then_it_has_to_wait() -> None:
    store = MemoryStore()
    write = memory_store._write
    waits: list[bool] = []

    def while_others_come(kept: memory_store._Kept, change: Change) -> None:
        waits.append(not store._lock.acquire(blocking=False))
        write(kept, change)

    with mock.patch.object(memory_store, "_write", while_others_come):
        store.commit(a_change())

    assert waits == [True]
    assert store.load(RUN_ID) is not None
