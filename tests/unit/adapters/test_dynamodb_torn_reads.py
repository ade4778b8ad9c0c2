"""A query may see one item as a transaction left it and another as it was before."""

import random
from typing import Any

import pytest

from adapters.dynamodb_store import DynamoDbStore
from ledger.errors import LedgerUnavailable
from ledger.run import RunLedger
from ledger.transitions import EffectState
from tests.builders import (
    RUN_ID,
    a_change,
    a_checkpoint,
    an_approval,
    an_attempt,
    an_effect,
)
from tests.ledger_table import TABLE_NAME
from tests.unit.adapters.faulty_client import Fate, FaultyClient, Send

PLANNED = an_effect()
CLAIMED = an_effect(state=EffectState.ATTEMPTING, attempts=(an_attempt(),))


def _store(client: Any) -> DynamoDbStore:
    return DynamoDbStore(client, TABLE_NAME, sleep=lambda _: None, random=random.random)


def _stored(client: Any, sort_key: str) -> dict[str, Any]:
    key = {"pk": {"S": f"RUN#{RUN_ID}"}, "sk": {"S": sort_key}}
    item: dict[str, Any] = client.get_item(TableName=TABLE_NAME, Key=key)["Item"]
    return item


def _answers(items: list[Any]) -> Fate:
    return lambda _: {"Items": items}


class TestTornRead:
    @pytest.fixture
    def pages(self, client: Any) -> tuple[list[Any], list[Any]]:
        """Return the run's items before its effect was claimed, and after."""
        answers: list[Any] = []

        def keep(send: Send) -> Any:
            answers.append(send()["Items"])
            return {"Items": answers[-1]}

        store = _store(FaultyClient(client, query=[keep, keep]))
        store.commit(a_change(effects=(PLANNED,), approvals=(an_approval(),)))
        store.load(RUN_ID)
        claim = a_change(
            "claim", expected_sequence=1, effects=(CLAIMED,), checkpoints=(a_checkpoint(),)
        )
        store.commit(claim)
        store.load(RUN_ID)
        before, after = answers
        return before, after

    def _load(self, client: Any, *torn: list[Any]) -> RunLedger | None:
        fates = [_answers(items) for items in torn]
        return _store(FaultyClient(client, query=fates)).load(RUN_ID)

    @pytest.mark.parametrize(
        "new",
        [
            pytest.param({"#HEAD", "CHECKPOINT#refund_confirmed"}, id="the effect is missing"),
            pytest.param({"#HEAD", "EFFECT#effect-refund-1"}, id="the checkpoint is missing"),
            pytest.param({"EFFECT#effect-refund-1"}, id="only the effect is there"),
            pytest.param({"CHECKPOINT#refund_confirmed"}, id="only the checkpoint is there"),
        ],
    )
    def test_given_part_of_a_claim_when_loaded_then_read_again_until_it_is_whole(
        self, client: Any, pages: tuple[list[Any], list[Any]], new: set[str]
    ) -> None:
        before, after = pages
        items = {item["sk"]["S"]: item for item in before}
        items |= {item["sk"]["S"]: item for item in after if item["sk"]["S"] in new}
        torn = [items[sort_key] for sort_key in sorted(items)]

        ledger = self._load(client, torn, torn)

        assert ledger is not None
        assert ledger.run.sequence == 2
        assert ledger.effects == (CLAIMED,)
        assert ledger.checkpoints == (a_checkpoint(),)

    def test_given_a_new_head_without_its_new_record_when_loaded_then_read_again(
        self, client: Any, pages: tuple[list[Any], list[Any]]
    ) -> None:
        _, after = pages
        torn = [item for item in after if not item["sk"]["S"].startswith("EFFECT#")]

        ledger = self._load(client, torn)

        assert ledger is not None
        assert ledger.effects == (CLAIMED,)

    def test_given_records_whose_head_is_not_visible_yet_when_loaded_then_read_again(
        self, client: Any, pages: tuple[list[Any], list[Any]]
    ) -> None:
        _, after = pages

        ledger = self._load(client, after[1:])

        assert ledger is not None

    def test_given_a_read_that_stays_torn_when_loaded_then_unavailable_after_a_bound(
        self, client: Any, pages: tuple[list[Any], list[Any]]
    ) -> None:
        _, after = pages

        with pytest.raises(LedgerUnavailable):
            self._load(client, *[after[1:]] * 5)

    def test_given_a_later_event_visible_before_an_earlier_one_when_read_then_read_again(
        self, client: Any
    ) -> None:
        _store(client).commit(a_change(event_count=3))

        def hides_the_second(send: Send) -> Any:
            answer = send()
            return {**answer, "Items": [answer["Items"][0], answer["Items"][2]]}

        faulty = FaultyClient(client, query=[hides_the_second])

        events = _store(faulty).events(RUN_ID, 0, limit=10)

        assert [event.sequence for event in events] == [1, 2, 3]

    def test_given_an_event_that_is_gone_for_good_when_read_then_no_reader_goes_past_it(
        self, client: Any
    ) -> None:
        _store(client).commit(a_change(event_count=3))
        key = {"pk": {"S": f"RUN#{RUN_ID}"}, "sk": {"S": "EVENT#0000000002"}}
        client.delete_item(TableName=TABLE_NAME, Key=key)

        with pytest.raises(LedgerUnavailable):
            _store(client).events(RUN_ID, 0, limit=10)
        assert [event.sequence for event in _store(client).events(RUN_ID, 2, limit=10)] == [3]
