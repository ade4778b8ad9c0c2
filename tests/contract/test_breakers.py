"""One contract for the breakers' state: in memory, and in the ledger's table beside the runs."""

from collections.abc import Iterator
from typing import Any, cast

import pytest
from botocore.exceptions import ClientError, ReadTimeoutError

from adapters.dynamodb_breakers import DynamoDbBreakers
from adapters.dynamodb_store import DynamoDbStore
from adapters.memory_breakers import MemoryBreakers
from ledger.breaker import Breaker, Breakers
from ledger.errors import LedgerUnavailable
from tests.builders import a_change, a_run
from tests.ledger_table import TABLE_NAME, ledger_table
from tests.unit.adapters.faulty_client import FaultyClient, fails

FULL = Breaker(
    provider="stripe_refunds",
    failing={"write-1": 1, "write-2": 1_767_225_600_000},
    open_until_ms=1_767_225_600_000,
    probe_until_ms=1_767_225_630_000,
    probes_answered=1,
)


@pytest.fixture(params=["dynamodb", "memory"])
def breakers(request: pytest.FixtureRequest) -> Iterator[Breakers]:
    """Yield breakers of which none is stored."""
    if request.param == "memory":
        yield MemoryBreakers()
        return
    with ledger_table() as client:
        yield DynamoDbBreakers(client, TABLE_NAME)


def test_given_nothing_stored_when_loaded_then_there_is_none(breakers: Breakers) -> None:
    assert breakers.load("stripe_refunds") is None


def test_given_a_stored_breaker_when_loaded_then_it_is_the_same_one_revision_on(
    breakers: Breakers,
) -> None:
    assert breakers.save(FULL)

    assert breakers.load("stripe_refunds") == FULL.model_copy(update={"revision": 1})
    assert breakers.load("stripe_billing") is None


def test_given_two_processes_that_count_at_once_when_both_store_then_one_has_to_read_again(
    breakers: Breakers,
) -> None:
    assert breakers.save(FULL)
    assert not breakers.save(FULL)

    first = breakers.load("stripe_refunds")
    assert first is not None
    assert breakers.save(first.model_copy(update={"open_until_ms": None}))
    assert not breakers.save(first)

    stored = breakers.load("stripe_refunds")
    assert stored is not None
    assert (stored.revision, stored.open_until_ms) == (2, None)


def test_given_a_field_of_newer_code_when_stored_again_then_it_is_carried_along(
    breakers: Breakers,
) -> None:
    newer = Breaker.model_validate({**FULL.model_dump(), "newer": "kept"})

    assert breakers.save(newer)

    stored = breakers.load("stripe_refunds")
    assert stored is not None
    assert (stored.model_extra or {})["newer"] == "kept"


def test_given_a_breaker_beside_runs_when_they_are_due_then_it_is_no_run() -> None:
    with ledger_table() as client:
        store = DynamoDbStore(client, TABLE_NAME, sleep=lambda _: None, random=lambda: 0.0)
        run = a_run(due_at_ms=1)
        store.commit(a_change(run=run))
        DynamoDbBreakers(client, TABLE_NAME).save(FULL)

        pages = [store.due(shard, 10, 100, None).run_ids for shard in store.due_shards]

    assert [found for page in pages for found in page] == [run.run_id]


def denied(operation: str) -> ClientError:
    response = {"Error": {"Code": "AccessDeniedException", "Message": "not yours"}}
    return ClientError(cast("Any", response), operation)


@pytest.mark.parametrize(
    "error", [ReadTimeoutError(endpoint_url="https://dynamodb.invalid"), denied("any")], ids=str
)
def test_given_no_useful_answer_when_asked_then_it_is_said_after_one_call(error: Exception) -> None:
    client = FaultyClient(None, get_item=[fails(error)], put_item=[fails(error)])
    breakers = DynamoDbBreakers(cast("Any", client), TABLE_NAME)

    with pytest.raises(LedgerUnavailable):
        breakers.load("stripe_refunds")
    with pytest.raises(LedgerUnavailable):
        breakers.save(FULL)

    assert [operation for operation, _ in client.calls] == ["get_item", "put_item"]


def test_given_something_that_is_no_breaker_when_loaded_then_it_is_said() -> None:
    with ledger_table() as client:
        client.put_item(
            TableName=TABLE_NAME,
            Item={
                "pk": {"S": "PROVIDER#stripe_refunds"},
                "sk": {"S": "BREAKER"},
                "record": {"M": {"provider": {"N": "1"}}},
            },
        )

        with pytest.raises(LedgerUnavailable, match="calls pass without it"):
            DynamoDbBreakers(client, TABLE_NAME).load("stripe_refunds")
