"""What every store refuses before it writes: changes that contradict themselves or cannot fit."""

from collections.abc import Iterator

from ledger.errors import InvariantBroken
from ledger.record import Record
from ledger.store import Change

MAX_ACTIONS = 100  # DynamoDB's limit for one transaction

# DynamoDB refuses items over 400 KB. 16 KB are kept for what is stored beside the record: both
# keys (3 KB at most), the numbers, and on the head the list of what was written with it.
MAX_RECORD_BYTES = (400 - 16) * 1024
MAX_LIMIT = 2**31 - 1  # the API's integers
MAX_DIGITS = 38  # DynamoDB keeps no more, and would round
# DynamoDB takes 2,048 bytes of a partition key and 1,024 of a sort key. What is left is for the
# prefixes that say what an id names. The partition keys are a run's and a tenant's.
MAX_ID_BYTES = 2_000
MAX_RECORD_ID_BYTES = 1_000
LISTED_ID_BYTES = 24  # a record's prefix and its place in the head's list, beside the id
MAX_CHANGE_BYTES = 3 * 1024 * 1024  # DynamoDB's limit is 4 MB, keys included


def check_change(change: Change) -> None:
    """Raise InvariantBroken unless ``change`` is consistent and fits into one transaction."""
    check_form(change)
    records = tuple(_records(change))
    if len(records) > MAX_ACTIONS:
        raise InvariantBroken(
            f"A change of {len(records)} records exceeds the {MAX_ACTIONS} of one transaction."
        )
    sizes = [_size_bytes(record.model_dump(mode="json")) for record in records]
    # The head also lists what was written with it.
    sizes[0] += sum(LISTED_ID_BYTES + len(name.encode()) for name in _record_ids(change))
    for record, size in zip(records, sizes, strict=True):
        if size > MAX_RECORD_BYTES:
            raise InvariantBroken(
                f"The {type(record).__name__} has {size} bytes, more than {MAX_RECORD_BYTES}: "
                "store large content elsewhere and keep its digest."
            )
    if sum(sizes) > MAX_CHANGE_BYTES:
        raise InvariantBroken(
            f"The change has {sum(sizes)} bytes, more than {MAX_CHANGE_BYTES} of one transaction."
        )


def check_form(change: Change) -> None:
    """Raise InvariantBroken for a change that contradicts itself, whatever its size."""
    _check_numbering(change)
    _check_identity(change)
    _check_ids(change)


def check_limit(limit: int) -> None:
    """Raise InvariantBroken for a page size that could never make progress, or never be asked."""
    if not 1 <= limit <= MAX_LIMIT:
        raise InvariantBroken(f"A page of {limit} records leads nowhere.")


def is_id(text: str) -> bool:
    """Return whether a run or a tenant could be stored under this id."""
    return 1 <= len(text.encode()) <= MAX_ID_BYTES


def _check_numbering(change: Change) -> None:
    if change.expected_sequence < 0:
        raise InvariantBroken(f"No run was ever at {change.expected_sequence}.")
    first = change.expected_sequence + 1
    numbers = [event.sequence for event in change.events]
    if not numbers or numbers != list(range(first, first + len(numbers))):
        raise InvariantBroken(f"Events must be numbered from {first} without a gap: {numbers}.")
    if change.run.sequence != numbers[-1]:
        raise InvariantBroken(
            f"The head says {change.run.sequence}, its newest event {numbers[-1]}."
        )


def _check_identity(change: Change) -> None:
    run_ids = {event.run_id for event in change.events}
    if change.personal is not None:
        run_ids.add(change.personal.run_id)
    if run_ids != {change.run.run_id}:
        raise InvariantBroken("A change belongs to one run.")
    if {event.commit_id for event in change.events} != {change.commit_id}:
        raise InvariantBroken("Events must carry the id of the change that writes them.")
    for ids in (
        [effect.effect_id for effect in change.effects],
        [approval.approval_id for approval in change.approvals],
        [checkpoint.name for checkpoint in change.checkpoints],
    ):
        if len(set(ids)) != len(ids):
            raise InvariantBroken(f"A change writes each record once: {ids}.")


def _check_ids(change: Change) -> None:
    # Their text is not quoted: it may be anything, and long.
    if not is_id(change.run.run_id) or not is_id(change.run.tenant_id):
        raise InvariantBroken(f"Ids of runs and tenants have 1 to {MAX_ID_BYTES} bytes.")
    if any(len(name.encode()) > MAX_RECORD_ID_BYTES for name in _record_ids(change)):
        raise InvariantBroken(f"Ids of records have at most {MAX_RECORD_ID_BYTES} bytes.")


def _record_ids(change: Change) -> list[str]:
    return [
        *(effect.effect_id for effect in change.effects),
        *(approval.approval_id for approval in change.approvals),
        *(checkpoint.name for checkpoint in change.checkpoints),
    ]


def _records(change: Change) -> Iterator[Record]:
    yield change.run
    yield from change.events
    yield from change.effects
    yield from change.approvals
    yield from change.checkpoints
    if change.personal is not None:
        yield change.personal


def _size_bytes(value: object) -> int:
    """Return the size by DynamoDB's published rules, rounded up."""
    match value:
        case None | bool():
            return 1
        case int() if abs(value) < 10**MAX_DIGITS:
            return len(str(abs(value))) // 2 + 2
        case str():
            return len(value.encode())
        case dict():
            return 3 + sum(1 + len(str(k).encode()) + _size_bytes(v) for k, v in value.items())
        case list():
            return 3 + sum(1 + _size_bytes(item) for item in value)
        case _:
            raise InvariantBroken(f"This {type(value).__name__} cannot be stored exactly.")
