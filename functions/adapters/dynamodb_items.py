"""How the ledger's records lie in the table.

Every item has ``pk`` (the run), ``sk`` (the record), ``sequence`` (of the change that wrote it)
and ``record`` (the record as a map that an operator can read). The head also has:

``written_together``  sort keys of the records that the same transaction wrote
``due_shard``, ``due_at_ms``  only while the run is due at some time: the index stays sparse
``review_tenant``, ``review_since_ms``  only while the run waits for a person, likewise
"""

import json
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from boto3.dynamodb.types import TypeDeserializer, TypeSerializer
from pydantic import ValidationError

from adapters.aws_faults import TornReadError
from adapters.due_shards import due_shard
from ledger.approval import Approval
from ledger.checkpoint import Checkpoint
from ledger.effect import Effect
from ledger.errors import InvariantBroken
from ledger.inbox import review_place
from ledger.record import Record
from ledger.run import Run, RunLedger
from ledger.store import Change, ReviewPlace

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.type_defs import AttributeValueTypeDef

type Item = Mapping[str, "AttributeValueTypeDef"]

RUN_PREFIX = "RUN#"
# The head sorts first and events last but for personal data, so that one range of sort keys
# holds all that a decision needs.
HEAD = "#HEAD"
APPROVAL_PREFIX = "APPROVAL#"
CHECKPOINT_PREFIX = "CHECKPOINT#"
EFFECT_PREFIX = "EFFECT#"
EVENT_PREFIX = "EVENT#"
PERSONAL = "PERSONAL"

EVENT_DIGITS = 10
LAST_SEQUENCE = 10**EVENT_DIGITS - 1


def partition_key(run_id: str) -> str:
    """Return the partition key of a run."""
    return f"{RUN_PREFIX}{run_id}"


def run_id_of(item: Item) -> str:
    """Return the run that an item or index entry belongs to."""
    return str(_plain(item)["pk"]).removeprefix(RUN_PREFIX)


def event_key(sequence: int) -> str:
    """Return an event's sort key; padded, so that text order is number order."""
    return f"{EVENT_PREFIX}{sequence:0{EVENT_DIGITS}d}"


def key(run_id: str, sort_key: str) -> dict[str, "AttributeValueTypeDef"]:
    """Return the full key of an item."""
    return {"pk": {"S": partition_key(run_id)}, "sk": {"S": sort_key}}


def head_item(change: Change) -> Item:
    """Return the run's head as the change leaves it."""
    run = change.run
    indexed: dict[str, Any] = {}
    if run.due_at_ms is not None:
        indexed |= {"due_shard": due_shard(run.run_id), "due_at_ms": run.due_at_ms}
    waits = review_place(run)
    if waits is not None:
        indexed |= {"review_tenant": run.tenant_id, "review_since_ms": waits.since_ms}
    return _item(change, HEAD, run, written_together=[*_record_keys(change)], **indexed)


def review_entry_key(tenant_id: str, place: ReviewPlace) -> dict[str, "AttributeValueTypeDef"]:
    """Return the key of a run's entry in the index of what waits for a person."""
    return {
        **key(place.run_id, HEAD),
        "review_tenant": {"S": tenant_id},
        "review_since_ms": {"N": str(place.since_ms)},
    }


def review_place_of(entry: Item) -> ReviewPlace:
    """Return where the run of an index entry waits."""
    since_ms = int(_plain(entry)["review_since_ms"])
    return ReviewPlace(since_ms=since_ms, run_id=run_id_of(entry))


def event_items(change: Change) -> list[Item]:
    """Return the change's events in their order."""
    return [
        _item(change, event_key(event.sequence), event, sequence=event.sequence)
        for event in change.events
    ]


def record_items(change: Change) -> list[Item]:
    """Return the approvals, checkpoints and effects of the change."""
    return [_item(change, sort_key, record) for sort_key, record in _record_keys(change).items()]


def personal_item(change: Change) -> Item:
    """Return the item of the change's personal fields. Raises InvariantBroken without any."""
    if change.personal is None:
        raise InvariantBroken("The change has no personal fields.")
    return _item(change, PERSONAL, change.personal)


def tombstone(run_id: str) -> Item:
    """Return what takes the place of erased personal fields."""
    return {**key(run_id, PERSONAL), "erased": {"BOOL": True}}


def ledger_of(items: Sequence[Item]) -> RunLedger | None:
    """Return the run that ``items`` hold, None for no items.

    Raises TornReadError when they hold one part of a transaction: a query is no snapshot. A new
    head beside an effect as it was before its claim would let a second worker claim it again.
    """
    if not items:
        return None
    records = {plain["sk"]: plain for plain in map(_plain, items)}
    head = records.pop(HEAD, None)
    if head is None or _is_torn(head, records):
        raise TornReadError
    run = _record(Run, head)
    if run.sequence != head["sequence"]:
        raise InvariantBroken(f"The head of run {run.run_id} contradicts its own number.")
    return RunLedger(
        run=run,
        effects=_records(Effect, EFFECT_PREFIX, records),
        approvals=_records(Approval, APPROVAL_PREFIX, records),
        checkpoints=_records(Checkpoint, CHECKPOINT_PREFIX, records),
    )


def record_of[T: Record](kind: type[T], item: Item) -> T:
    """Return the record in ``item``, checked again. Raises InvariantBroken when it is none."""
    return _record(kind, _plain(item))


def _is_torn(head: dict[str, Any], records: dict[str, dict[str, Any]]) -> bool:
    # Only the newest transaction can be half visible: its writer had seen all of the one before.
    newest = head["sequence"]
    written = {sort_key: records.get(sort_key) for sort_key in head["written_together"]}
    return any(found is None or found["sequence"] != newest for found in written.values()) or any(
        found["sequence"] > newest for found in records.values()
    )


def _record_keys(change: Change) -> dict[str, Record]:
    return {
        **{f"{APPROVAL_PREFIX}{found.approval_id}": found for found in change.approvals},
        **{f"{CHECKPOINT_PREFIX}{found.name}": found for found in change.checkpoints},
        **{f"{EFFECT_PREFIX}{found.effect_id}": found for found in change.effects},
    }


def _item(change: Change, sort_key: str, record: Record, **attributes: object) -> Item:
    plain = {
        "pk": partition_key(change.run.run_id),
        "sk": sort_key,
        "sequence": change.run.sequence,
        "record": record.model_dump(mode="json"),
        **attributes,
    }
    return {name: TypeSerializer().serialize(value) for name, value in plain.items()}


def _plain(item: Item) -> dict[str, Any]:
    return {name: TypeDeserializer().deserialize(value) for name, value in item.items()}


def _records[T: Record](
    kind: type[T], prefix: str, records: dict[str, dict[str, Any]]
) -> tuple[T, ...]:
    return tuple(
        _record(kind, records[sort_key])
        for sort_key in sorted(records)
        if sort_key.startswith(prefix)
    )


def _record[T: Record](kind: type[T], plain: dict[str, Any]) -> T:
    try:
        return kind.model_validate_json(json.dumps(plain["record"], default=_integer))
    except ValidationError as error:
        places = [".".join(map(str, found["loc"])) for found in error.errors()]
    # Outside the except block: the error's text, kept as a cause, would quote what was stored.
    raise InvariantBroken(f"The stored {plain['sk']} is no {kind.__name__} at: {places}.")


def _integer(value: object) -> int:
    if isinstance(value, Decimal) and value == value.to_integral_value():
        return int(value)
    raise InvariantBroken(f"A stored {type(value).__name__} is not part of any record.")
