"""How the ledger lies in the table, and what is made of it when it is read back."""

import random
from typing import Any

import pytest

from adapters.dynamodb_items import event_items
from adapters.dynamodb_store import DynamoDbStore
from ledger.errors import InvariantBroken, LedgerMoved
from ledger.transitions import EffectState
from tests.builders import (
    NOW_MS,
    RUN_ID,
    a_change,
    a_checkpoint,
    a_run,
    an_approval,
    an_attempt,
    an_effect,
    an_event,
    evidence,
    personal_fields,
)
from tests.ledger_table import TABLE_NAME
from tests.unit.adapters.faulty_client import FaultyClient, Send

PLANNED = an_effect()
CLAIMED = an_effect(state=EffectState.ATTEMPTING, attempts=(an_attempt(),))


def _store(client: Any) -> DynamoDbStore:
    return DynamoDbStore(client, TABLE_NAME, sleep=lambda _: None, random=random.random)


def _stored(client: Any, sort_key: str) -> dict[str, Any]:
    key = {"pk": {"S": f"RUN#{RUN_ID}"}, "sk": {"S": sort_key}}
    item: dict[str, Any] = client.get_item(TableName=TABLE_NAME, Key=key)["Item"]
    return item


class TestLayout:
    def test_given_a_full_run_when_stored_then_each_record_is_one_readable_item(
        self, client: Any
    ) -> None:
        _store(client).commit(
            a_change(
                event_count=2,
                effects=(PLANNED,),
                approvals=(an_approval(),),
                checkpoints=(a_checkpoint(),),
                personal=personal_fields(),
            )
        )

        items = client.scan(TableName=TABLE_NAME)["Items"]
        assert {item["pk"]["S"] for item in items} == {f"RUN#{RUN_ID}"}
        assert sorted(item["sk"]["S"] for item in items) == [
            "#HEAD",
            "APPROVAL#approval-1",
            "CHECKPOINT#refund_confirmed",
            "EFFECT#effect-refund-1",
            "EVENT#0000000001",
            "EVENT#0000000002",
            "PERSONAL",
        ]
        effect = _stored(client, "EFFECT#effect-refund-1")
        assert effect["record"]["M"]["bound"]["M"]["amount_minor"] == {"N": "7900"}
        assert effect["sequence"] == {"N": "2"}

    def test_given_a_run_that_is_never_due_when_stored_then_it_has_no_index_attributes(
        self, client: Any
    ) -> None:
        store = _store(client)
        store.commit(a_change())
        assert {"due_shard", "due_at_ms"} <= _stored(client, "#HEAD").keys()

        store.commit(a_change("commit-2", expected_sequence=1, run=a_run(due_at_ms=None)))

        assert _stored(client, "#HEAD").keys() == {
            "pk",
            "sk",
            "sequence",
            "record",
            "written_together",
        }

    def test_given_erased_fields_when_the_item_is_looked_at_then_nothing_of_them_is_left(
        self, client: Any
    ) -> None:
        store = _store(client)
        store.commit(a_change(personal=personal_fields()))

        store.erase_personal(RUN_ID)

        assert _stored(client, "PERSONAL").keys() == {"pk", "sk", "erased"}


def test_given_a_head_that_lost_its_events_when_the_run_is_created_again_then_it_is_not_replaced(
    client: Any,
) -> None:
    store = _store(client)
    store.commit(a_change(effects=(PLANNED,)))
    key = {"pk": {"S": f"RUN#{RUN_ID}"}, "sk": {"S": "EVENT#0000000001"}}
    client.delete_item(TableName=TABLE_NAME, Key=key)

    with pytest.raises(LedgerMoved):
        store.commit(a_change("again", run=a_run(tenant_id="tenant-2")))

    ledger = store.load(RUN_ID)
    assert ledger is not None
    assert ledger.run.tenant_id == "tenant-1"


class TestLoad:
    def test_given_1000_events_when_loaded_then_one_consistent_query_of_three_items(
        self, client: Any
    ) -> None:
        _store(client).commit(a_change(effects=(PLANNED,), approvals=(an_approval(),)))
        # Written one by one: the emulated transaction copies the whole table for each action.
        for item in event_items(a_change("c", expected_sequence=1, event_count=999)):
            client.put_item(TableName=TABLE_NAME, Item=item)
        counted: list[int] = []

        def count(send: Send) -> Any:
            answer = send()
            counted.append(answer["ScannedCount"])
            return answer

        faulty = FaultyClient(client, query=[count])

        ledger = _store(faulty).load(RUN_ID)

        assert ledger is not None
        assert counted == [3]
        assert [name for name, _ in faulty.calls] == ["query"]
        assert faulty.requests("query")[0]["ConsistentRead"] is True
        assert len(_store(client).events(RUN_ID, 0, limit=2_000)) == 1_000

    def test_given_records_beyond_one_page_when_loaded_then_every_page_is_read_consistently(
        self, client: Any
    ) -> None:
        large = evidence(fields={"text": "v" * 370_000})
        effects = tuple(an_effect(effect_id=f"effect-{n}", evidence=large) for n in range(8))
        for number, effect in enumerate(effects):
            _store(client).commit(
                a_change(f"c{number}", expected_sequence=number, effects=(effect,))
            )
        faulty = FaultyClient(client)

        ledger = _store(faulty).load(RUN_ID)

        assert ledger is not None
        assert ledger.effects == effects
        reads = faulty.requests("query")
        assert len(reads) > 1
        assert all(read["ConsistentRead"] is True for read in reads)

    def test_given_pages_without_end_when_loaded_then_refused_after_a_bound(
        self, client: Any
    ) -> None:
        def endless(send: Send) -> Any:
            key = {"pk": {"S": f"RUN#{RUN_ID}"}, "sk": {"S": "A"}}
            return {**send(), "LastEvaluatedKey": key}

        faulty = FaultyClient(client, query=[endless] * 100)

        with pytest.raises(InvariantBroken, match="pages"):
            _store(faulty).load(RUN_ID)

        assert len(faulty.calls) == 8

    def test_given_events_beyond_one_page_when_read_then_pages_are_joined(
        self, client: Any
    ) -> None:
        large = {f"d{n}": "v" * 3_000 for n in range(100)}
        for number in range(4):
            commit_id = f"c{number}"
            event = an_event(sequence=number + 1, commit_id=commit_id, details=large)
            _store(client).commit(a_change(commit_id, expected_sequence=number, events=(event,)))
        faulty = FaultyClient(client)

        events = _store(faulty).events(RUN_ID, 0, limit=4)

        assert [event.sequence for event in events] == [1, 2, 3, 4]
        reads = faulty.requests("query")
        assert len(reads) > 1
        assert [read["Limit"] for read in reads] == [4, 4 - 3]


class TestCheckedWhenRead:
    @pytest.mark.parametrize(
        ("field", "value"),
        [
            pytest.param("state", {"S": "refunded"}, id="a state that there is not"),
            pytest.param("instance", {"S": "1"}, id="text for a number"),
            pytest.param("instance", {"N": "1.5"}, id="a fraction"),
            pytest.param("request", {"B": b"x"}, id="bytes"),
        ],
    )
    def test_given_an_item_altered_by_hand_when_loaded_then_refused_without_quoting_it(
        self, client: Any, field: str, value: dict[str, Any]
    ) -> None:
        store = _store(client)
        store.commit(a_change(effects=(PLANNED,)))
        item = _stored(client, "EFFECT#effect-refund-1")
        item["record"]["M"][field] = value
        client.put_item(TableName=TABLE_NAME, Item=item)

        with pytest.raises(InvariantBroken) as caught:
            store.load(RUN_ID)

        assert "secret-marker" not in str(caught.value)
        assert caught.value.__context__ is None

    def test_given_a_head_that_contradicts_its_own_number_when_loaded_then_refused(
        self, client: Any
    ) -> None:
        store = _store(client)
        store.commit(a_change())
        head = _stored(client, "#HEAD")
        head["record"]["M"]["sequence"] = {"N": "7"}
        client.put_item(TableName=TABLE_NAME, Item=head)

        with pytest.raises(InvariantBroken, match="contradicts"):
            store.load(RUN_ID)


def test_given_a_stale_index_page_when_asked_for_due_runs_then_it_only_nominates(
    client: Any,
) -> None:
    store = _store(client)
    store.commit(a_change())
    pages: list[Any] = []

    def keep(send: Send) -> Any:
        pages.append(send())
        return pages[-1]

    shard = next(shard for shard in store.due_shards if store.due(shard, NOW_MS, 10, None).run_ids)
    _store(FaultyClient(client, query=[keep])).due(shard, NOW_MS, 10, None)
    store.commit(a_change("commit-2", expected_sequence=1, run=a_run(due_at_ms=None)))

    stale = FaultyClient(client, query=[lambda _: pages[0]])
    nominated = _store(stale).due(shard, NOW_MS, 10, None)

    assert nominated.run_ids == (RUN_ID,)
    ledger = _store(stale).load(RUN_ID)
    assert ledger is not None
    assert ledger.run.due_at_ms is None
