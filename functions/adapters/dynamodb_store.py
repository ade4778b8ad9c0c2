"""The ledger in one DynamoDB table: conditional transactions and consistent reads."""

import hashlib
import json
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from botocore.exceptions import ClientError

from adapters import dynamodb_items as items
from adapters.aws_faults import Fault, TornReadError, fault_of
from adapters.change_check import check_change, check_limit, is_id
from adapters.due_shards import DUE_SHARDS
from adapters.patience import Patience
from ledger.errors import InvariantBroken, LedgerMoved
from ledger.event import Event
from ledger.run import PersonalFields, RunLedger
from ledger.store import Change, DuePage, ReviewPage, ReviewPlace

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_dynamodb.type_defs import TransactWriteItemTypeDef

DUE_INDEX = "due"
REVIEW_INDEX = "review"
MAX_PAGES = 8  # of 1 MB each: a run's records take a few KB, and events are read by limit
MAX_TOKEN_CHARS = 36  # DynamoDB's limit for a ClientRequestToken
FIRST_EVENT_ACTION = 1  # the head is action 0


class _Pages(NamedTuple):
    items: list[items.Item]
    complete: bool


class DynamoDbStore:
    """A ``ledger.store.LedgerStore`` on DynamoDB.

    ``client`` must not retry by itself. ``sleep`` takes seconds; ``random`` returns 0 <= x < 1.
    """

    def __init__(
        self,
        client: "DynamoDBClient",
        table_name: str,
        sleep: Callable[[float], None],
        random: Callable[[], float],
    ) -> None:
        """Use the table, with time and randomness from outside."""
        self._client = client
        self._table_name = table_name
        self._patience = Patience(sleep, random)

    @property
    def due_shards(self) -> tuple[str, ...]:
        """Return the shards over which due runs are spread."""
        return DUE_SHARDS

    def load(self, run_id: str) -> RunLedger | None:
        """Return the run without events or personal fields, None when there is none."""
        return self._patience.call(partial(self._load_once, run_id))

    def commit(self, change: Change) -> None:
        """Write all of ``change`` or nothing; see ``LedgerStore.commit``.

        Raises InvariantBroken for a change that can never be written.
        """
        check_change(change)
        send = partial(
            self._client.transact_write_items,
            TransactItems=self._actions(change),
            ClientRequestToken=self._token(change),
        )
        try:
            self._patience.call(send)
        except ClientError as error:
            self._accept_own(change, error)

    def events(self, run_id: str, after_sequence: int, limit: int) -> tuple[Event, ...]:
        """Return at most ``limit`` events after ``after_sequence``, gapless and in order."""
        check_limit(limit)
        after = min(max(0, after_sequence), items.LAST_SEQUENCE - 1)
        return self._patience.call(partial(self._events_once, run_id, after, limit))

    def due(self, shard: str, now_ms: int, limit: int, cursor: str | None) -> DuePage:
        """Return a page of nominated runs, longest due first."""
        check_limit(limit)
        query: dict[str, Any] = {
            "TableName": self._table_name,
            "IndexName": DUE_INDEX,
            "KeyConditionExpression": "due_shard = :shard AND due_at_ms <= :now",
            "ExpressionAttributeValues": {":shard": {"S": shard}, ":now": {"N": str(now_ms)}},
            "Limit": limit,
        }
        if cursor is not None:
            query["ExclusiveStartKey"] = json.loads(cursor)
        page = self._patience.call(partial(self._client.query, **query))
        last = page.get("LastEvaluatedKey")
        return DuePage(
            run_ids=tuple(items.run_id_of(item) for item in page["Items"]),
            cursor=json.dumps(last) if last else None,
        )

    def in_review(self, tenant_id: str, limit: int, after: ReviewPlace | None) -> ReviewPage:
        """Return a page of a tenant's nominated runs, longest waiting first."""
        check_limit(limit)
        if not is_id(tenant_id):
            return ReviewPage(places=(), next=None)
        query: dict[str, Any] = {
            "TableName": self._table_name,
            "IndexName": REVIEW_INDEX,
            "KeyConditionExpression": "review_tenant = :tenant",
            "ExpressionAttributeValues": {":tenant": {"S": tenant_id}},
            "Limit": limit,
        }
        if after is not None:
            query["ExclusiveStartKey"] = items.review_entry_key(tenant_id, after)
        page = self._patience.call(partial(self._client.query, **query))
        last = page.get("LastEvaluatedKey")
        return ReviewPage(
            places=tuple(items.review_place_of(entry) for entry in page["Items"]),
            next=items.review_place_of(last) if last else None,
        )

    def personal(self, run_id: str) -> PersonalFields | None:
        """Return the run's personal fields, None when absent or erased."""
        item = self._get(run_id, items.PERSONAL)
        if item is None or "erased" in item:
            return None
        return items.record_of(PersonalFields, item)

    def erase_personal(self, run_id: str) -> None:
        """Overwrite the run's personal fields by a tombstone, which no later change replaces."""
        if not is_id(run_id):
            return
        put = partial(
            self._client.put_item, TableName=self._table_name, Item=items.tombstone(run_id)
        )
        self._patience.call(put)

    def _actions(self, change: Change) -> "list[TransactWriteItemTypeDef]":
        actions = [self._put_head(change)]
        for event in items.event_items(change):
            action = self._put(event, "attribute_not_exists(pk)")
            action["Put"]["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
            actions.append(action)
        actions += [self._put(record) for record in items.record_items(change)]
        if change.personal is not None:
            # A worker that read the fields before they were erased must not bring them back.
            actions.append(self._put(items.personal_item(change), "attribute_not_exists(erased)"))
        return actions

    def _token(self, change: Change) -> str:
        """Return what makes a repeat of the same transaction harmless for ten minutes."""
        # Tokens are remembered for the whole account, so the table and the run are part of it. And
        # the sequence: a commit id at another place must mean the same before and after that time.
        at = f"{change.expected_sequence}/{change.commit_id}"
        name = f"{self._table_name}/{change.run.run_id}/{at}"
        return hashlib.sha256(name.encode()).hexdigest()[:MAX_TOKEN_CHARS]

    def _put_head(self, change: Change) -> "TransactWriteItemTypeDef":
        if change.expected_sequence == 0:
            return self._put(items.head_item(change), "attribute_not_exists(pk)")
        head = self._put(items.head_item(change), "#sequence = :expected")
        head["Put"]["ExpressionAttributeNames"] = {"#sequence": "sequence"}
        head["Put"]["ExpressionAttributeValues"] = {
            ":expected": {"N": str(change.expected_sequence)}
        }
        return head

    def _put(self, item: items.Item, condition: str | None = None) -> "TransactWriteItemTypeDef":
        put: dict[str, Any] = {"TableName": self._table_name, "Item": item}
        if condition is not None:
            put["ConditionExpression"] = condition
        return {"Put": put}  # type: ignore[typeddict-item]

    def _accept_own(self, change: Change, error: ClientError) -> None:
        """Return when ``change`` itself is what stands in its own way, else raise LedgerMoved.

        The event tells, not the head: somebody may have written on top of us since.
        """
        first = change.events[0]
        item = _old_event(error) or self._get(first.run_id, items.event_key(first.sequence))
        if item is not None and items.record_of(Event, item).commit_id == change.commit_id:
            return
        if fault_of(error) is Fault.TOKEN_REUSED:
            raise InvariantBroken(f"Commit id {change.commit_id} names two changes.") from error
        raise LedgerMoved(
            f"Run {first.run_id} is no longer at {change.expected_sequence}; read it again."
        ) from error

    def _load_once(self, run_id: str) -> RunLedger | None:
        pages = self._query(run_id, "sk < :first", {":first": {"S": items.EVENT_PREFIX}})
        if not pages.complete:
            raise InvariantBroken(f"Run {run_id} holds more than {MAX_PAGES} pages of records.")
        return items.ledger_of(pages.items)

    def _events_once(self, run_id: str, after_sequence: int, limit: int) -> tuple[Event, ...]:
        bounds = {
            ":first": {"S": items.event_key(after_sequence + 1)},
            ":last": {"S": items.event_key(items.LAST_SEQUENCE)},
        }
        pages = self._query(run_id, "sk BETWEEN :first AND :last", bounds, limit)
        found = tuple(items.record_of(Event, item) for item in pages.items)
        # A reader that went on behind a gap would never come back for what was missing.
        if [event.sequence for event in found] != [
            after_sequence + number for number in range(1, len(found) + 1)
        ]:
            raise TornReadError
        return found

    def _query(
        self, run_id: str, condition: str, bounds: dict[str, Any], limit: int | None = None
    ) -> _Pages:
        # Ids come from callers. One that DynamoDB would refuse names no run, and is no fault.
        if not is_id(run_id):
            return _Pages([], complete=True)
        query: dict[str, Any] = {
            "TableName": self._table_name,
            "KeyConditionExpression": f"pk = :run AND {condition}",
            "ExpressionAttributeValues": {
                ":run": {"S": items.partition_key(run_id)},
                **bounds,
            },
            "ConsistentRead": True,
        }
        found: list[items.Item] = []
        for _ in range(MAX_PAGES):
            if limit is not None:
                query["Limit"] = limit - len(found)
            page = self._patience.call(partial(self._client.query, **query))
            found += page["Items"]
            last = page.get("LastEvaluatedKey")
            if not last or len(found) == limit:
                return _Pages(found, complete=True)
            query["ExclusiveStartKey"] = last
        return _Pages(found, complete=False)

    def _get(self, run_id: str, sort_key: str) -> items.Item | None:
        if not is_id(run_id):
            return None
        get = partial(
            self._client.get_item,
            TableName=self._table_name,
            Key=items.key(run_id, sort_key),
            ConsistentRead=True,
        )
        return self._patience.call(get).get("Item")


def _old_event(error: ClientError) -> items.Item | None:
    reasons: list[Any] = [*error.response.get("CancellationReasons", [])]
    return reasons[FIRST_EVENT_ACTION].get("Item") if len(reasons) > FIRST_EVENT_ACTION else None
