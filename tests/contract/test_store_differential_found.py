"""What the comparison of the two stores has found: both now keep these, too."""

from typing import TYPE_CHECKING, cast

import pytest

from adapters.change_check import MAX_ID_BYTES, MAX_RECORD_BYTES, MAX_RECORD_ID_BYTES
from adapters.due_shards import due_shard
from adapters.dynamodb_store import DynamoDbStore
from ledger.errors import InvariantBroken
from ledger.run import Run
from ledger.store import LedgerStore
from tests.builders import NOW_MS, RUN_ID, a_change, a_run, an_effect
from tests.contract.differential.sizes import grown
from tests.contract.differential.stores import TokenKeepingClient
from tests.ledger_table import TABLE_NAME, ledger_table

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

TOO_LONG = "r" * (MAX_ID_BYTES + 1)


class _NoTable:
    """A client of which nothing may be asked."""

    def __getattr__(self, name: str) -> object:
        raise AssertionError(f"{name} was asked for")


def _no_sleep(seconds: float) -> None:
    raise AssertionError(f"Nothing here has to wait, but the store slept {seconds} s.")


def _dynamodb(client: object) -> DynamoDbStore:
    typed = cast("DynamoDBClient", client)
    return DynamoDbStore(typed, TABLE_NAME, sleep=_no_sleep, random=lambda: 0.0)


def test_given_a_place_before_the_first_event_when_read_then_the_trail_from_its_beginning(
    store: LedgerStore,
) -> None:
    change = a_change(event_count=3)
    store.commit(change)

    for after_sequence in (-1, -2, -(10**12)):
        assert store.events(RUN_ID, after_sequence, limit=2) == change.events[:2]


def test_given_a_place_behind_the_last_event_when_read_then_nothing(store: LedgerStore) -> None:
    store.commit(a_change(event_count=3))

    for after_sequence in (3, 10**10 - 1, 10**20):
        assert store.events(RUN_ID, after_sequence, limit=2) == ()


def test_given_a_time_before_1970_when_asked_what_is_due_then_the_run_is_listed_first(
    store: LedgerStore,
) -> None:
    store.commit(a_change(run=a_run(due_at_ms=-NOW_MS)))

    assert store.due(due_shard(RUN_ID), NOW_MS, 10, None).run_ids == (RUN_ID,)


def test_given_a_tenant_that_there_cannot_be_when_asked_what_waits_then_nothing(
    store: LedgerStore,
) -> None:
    for tenant_id in ("", TOO_LONG):
        assert store.in_review(tenant_id, 10, None).places == ()


@pytest.mark.parametrize("run_id", ["", TOO_LONG])
def test_given_a_run_id_that_no_key_can_hold_when_read_or_erased_then_as_of_no_run(
    run_id: str,
) -> None:
    # DynamoDB refuses such a key, and the emulated table does not: so none may be sent.
    store = _dynamodb(_NoTable())

    assert store.load(run_id) is None
    assert store.events(run_id, 0, 10) == ()
    assert store.personal(run_id) is None
    store.erase_personal(run_id)


def test_given_a_change_that_no_key_can_hold_when_committed_then_refused(
    store: LedgerStore,
) -> None:
    misnamed = an_effect(effect_id="n" * (MAX_RECORD_ID_BYTES + 1))

    for change in (
        a_change(run=a_run(run_id="")),
        a_change(run=a_run(run_id=TOO_LONG)),
        a_change(run=a_run(tenant_id="")),
        a_change(run=a_run(tenant_id=TOO_LONG)),
        a_change(effects=(misnamed,)),
        a_change(expected_sequence=-2),
    ):
        with pytest.raises(InvariantBroken):
            store.commit(change)


def test_given_ids_as_long_as_keys_can_hold_when_committed_then_read_back(
    store: LedgerStore,
) -> None:
    head = a_run(run_id="r" * MAX_ID_BYTES, tenant_id="t" * MAX_ID_BYTES)
    effect = an_effect(effect_id="n" * MAX_RECORD_ID_BYTES)

    store.commit(a_change(run=head, effects=(effect,)))

    ledger = store.load(head.run_id)
    assert ledger is not None
    assert ledger.effects == (effect,)


def test_given_a_large_head_when_it_would_list_too_many_long_names_then_refused(
    store: LedgerStore,
) -> None:
    # The head lists what was written with it, which counts for its size.
    head: Run = grown(a_run(), MAX_RECORD_BYTES - 200)
    effects = tuple(an_effect(effect_id=f"{number:0900d}") for number in range(40))

    with pytest.raises(InvariantBroken, match="keep its digest"):
        store.commit(a_change(run=head, effects=effects))


def test_given_a_page_larger_than_can_be_asked_for_then_refused(store: LedgerStore) -> None:
    with pytest.raises(InvariantBroken):
        store.events(RUN_ID, 0, limit=2**31)


def test_given_a_commit_id_used_again_further_on_when_dynamodb_remembers_it_then_no_matter() -> (
    None
):
    with ledger_table() as client:
        store = _dynamodb(TokenKeepingClient(client))
        store.commit(a_change())

        # Ten minutes later this would be written; it must not depend on the time.
        store.commit(a_change(expected_sequence=1))

        assert [event.sequence for event in store.events(RUN_ID, 0, limit=10)] == [1, 2]
