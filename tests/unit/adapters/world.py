"""A DynamoDB store over a client that goes wrong by script."""

from typing import Any

from adapters.dynamodb_store import DynamoDbStore
from tests.builders import RUN_ID
from tests.ledger_table import TABLE_NAME
from tests.unit.adapters.faulty_client import Fate, FaultyClient

JITTER = 0.5


class World:
    """The store, its client, and every pause that it made."""

    def __init__(self, client: Any, **script: list[Fate]) -> None:
        self.client = FaultyClient(client, **script)
        self.pauses_ms: list[float] = []
        self.store: DynamoDbStore = DynamoDbStore(
            self.client,  # type: ignore[arg-type]
            TABLE_NAME,
            sleep=lambda seconds: self.pauses_ms.append(seconds * 1000),
            random=lambda: JITTER,
        )

    def sends(self) -> list[dict[str, Any]]:
        return self.client.requests("transact_write_items")

    def commit_ids(self) -> list[str]:
        return [event.commit_id for event in self.store.events(RUN_ID, 0, limit=100)]


def healthy(client: Any) -> DynamoDbStore:
    """Return a store over a client that does as it is told."""
    return World(client).store
