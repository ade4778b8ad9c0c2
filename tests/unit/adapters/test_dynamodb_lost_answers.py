"""The DynamoDB store when an answer is lost: our own write that landed is success."""

from collections.abc import Callable
from typing import Any

import pytest
from botocore.exceptions import (
    ConnectionClosedError,
    ConnectTimeoutError,
    EndpointConnectionError,
    SSLError,
)
from botocore.parsers import ResponseParserError

from adapters.dynamodb_store import DynamoDbStore
from ledger.effect import Effect
from ledger.errors import LedgerMoved, LedgerUnavailable
from ledger.transitions import EffectState
from tests.builders import (
    RUN_ID,
    a_change,
    a_checkpoint,
    a_run,
    an_attempt,
    an_effect,
    evidence,
    personal_fields,
)
from tests.unit.adapters.faulty_client import (
    Send,
    cancelled,
    fails,
    lands_then,
    read_timeout,
    service_error,
)
from tests.unit.adapters.world import World, healthy

CLAIMED = an_effect(state=EffectState.ATTEMPTING, attempts=(an_attempt(),))
CONFIRMED = an_effect(state=EffectState.CONFIRMED, evidence=evidence())

CREATE = a_change("create", effects=(an_effect(),), personal=personal_fields())
CLAIM = a_change("claim", expected_sequence=1, effects=(CLAIMED,))
SETTLE = a_change(
    "settle",
    expected_sequence=2,
    event_count=2,
    effects=(CONFIRMED,),
    checkpoints=(a_checkpoint(),),
)
STORY = (CREATE, CLAIM, SETTLE)

LOST_ANSWERS: list[Callable[[], Exception]] = [
    read_timeout,
    lambda: ConnectTimeoutError(endpoint_url="https://dynamodb.invalid"),
    lambda: ConnectionClosedError(endpoint_url="https://dynamodb.invalid"),
    lambda: EndpointConnectionError(endpoint_url="https://dynamodb.invalid"),
    lambda: SSLError(endpoint_url="https://dynamodb.invalid", error=OSError("reset")),
    lambda: ResponseParserError("no answer that can be read"),
    lambda: service_error("InternalServerError", 500),
    lambda: service_error("ServiceUnavailable", 503),
]


def _effects(store: DynamoDbStore) -> tuple[Effect, ...]:
    ledger = store.load(RUN_ID)
    assert ledger is not None
    return ledger.effects


class TestLostAnswer:
    """The emulated table ignores request tokens, so here the conditions alone protect."""

    @pytest.mark.parametrize("point", [0, 1, 2], ids=["create", "claim", "settle"])
    def test_given_a_write_that_landed_when_its_answer_is_lost_then_success_and_its_events_once(
        self, client: Any, point: int
    ) -> None:
        for change in STORY[:point]:
            healthy(client).commit(change)
        world = World(client, transact_write_items=[lands_then(read_timeout())])

        world.store.commit(STORY[point])

        assert len(world.sends()) == 2
        expected = [event.commit_id for change in STORY[: point + 1] for event in change.events]
        assert world.commit_ids() == expected
        assert _effects(world.store) == STORY[point].effects

    @pytest.mark.parametrize("error", LOST_ANSWERS, ids=lambda made: type(made()).__name__)
    def test_given_a_write_that_did_not_land_when_repeated_then_the_same_bytes_and_token(
        self, client: Any, error: Callable[[], Exception]
    ) -> None:
        world = World(client, transact_write_items=[fails(error()), fails(error())])

        world.store.commit(CREATE)

        first, *others = world.sends()
        assert others == [first, first]
        assert world.commit_ids() == ["create"]

    def test_given_three_changes_when_sent_then_their_tokens_differ_and_fit(
        self, client: Any
    ) -> None:
        world = World(client)

        world.store.commit(a_change("c" * 200))
        world.store.commit(a_change("c" * 201, expected_sequence=1))
        world.store.commit(a_change("c" * 200, run=a_run(run_id="run-2")))

        tokens = [request["ClientRequestToken"] for request in world.sends()]
        assert len(set(tokens)) == 3
        assert {len(token) for token in tokens} == {36}

    def test_given_our_write_landed_and_somebody_wrote_on_top_when_repeated_then_success(
        self, client: Any
    ) -> None:
        healthy(client).commit(CREATE)

        def lands_and_is_overtaken(send: Send) -> Any:
            send()
            healthy(client).commit(SETTLE)
            raise read_timeout()

        world = World(client, transact_write_items=[lands_and_is_overtaken])

        world.store.commit(CLAIM)

        assert world.commit_ids() == ["create", "claim", "settle", "settle"]
        assert _effects(world.store) == (CONFIRMED,)

    def test_given_a_lost_request_and_a_faster_writer_when_repeated_then_moved(
        self, client: Any
    ) -> None:
        healthy(client).commit(CREATE)

        def is_overtaken(_: Send) -> Any:
            healthy(client).commit(a_change("theirs", expected_sequence=1))
            raise read_timeout()

        world = World(client, transact_write_items=[is_overtaken])

        with pytest.raises(LedgerMoved):
            world.store.commit(CLAIM)

        assert world.commit_ids() == ["create", "theirs"]
        assert _effects(world.store) == (an_effect(),)

    def test_given_no_answer_ever_when_committed_then_unavailable_after_three_sends(
        self, client: Any
    ) -> None:
        world = World(client, transact_write_items=[fails(read_timeout())] * 10)

        with pytest.raises(LedgerUnavailable):
            world.store.commit(CREATE)

        assert len(world.sends()) == 3

    def test_given_the_last_send_landed_when_the_caller_repeats_later_then_success(
        self, client: Any
    ) -> None:
        world = World(client, transact_write_items=[lands_then(read_timeout())] * 3)

        # The second send meets the first one's item, so the store knows before it gives up.
        world.store.commit(CREATE)
        world.store.commit(CREATE)

        assert world.commit_ids() == ["create"]

    def test_given_a_refused_condition_when_the_deciding_read_fails_then_unavailable(
        self, client: Any
    ) -> None:
        world = World(
            client,
            transact_write_items=[fails(cancelled("ConditionalCheckFailed", "None"))],
            get_item=[fails(read_timeout())] * 10,
        )

        with pytest.raises(LedgerUnavailable):
            world.store.commit(CREATE)


class TestReads:
    @pytest.mark.parametrize(
        ("operation", "read"),
        [
            ("query", lambda store: store.load(RUN_ID)),
            ("query", lambda store: store.events(RUN_ID, 0, 10)),
            ("query", lambda store: store.due(store.due_shards[0], 1, 10, None)),
            ("get_item", lambda store: store.personal(RUN_ID)),
            ("put_item", lambda store: store.erase_personal(RUN_ID)),
        ],
        ids=["load", "events", "due", "personal", "erase"],
    )
    def test_given_no_answer_when_called_then_repeated_and_in_the_end_unavailable(
        self, client: Any, operation: str, read: Callable[[DynamoDbStore], object]
    ) -> None:
        recovering = World(client, **{operation: [fails(read_timeout())] * 2})
        read(recovering.store)
        assert len(recovering.client.calls) == 3

        dead = World(client, **{operation: [fails(read_timeout())] * 100})
        with pytest.raises(LedgerUnavailable):
            read(dead.store)
        assert len(dead.client.calls) == 3

    def test_given_a_transaction_on_the_item_when_erased_then_repeated(self, client: Any) -> None:
        healthy(client).commit(CREATE)
        world = World(client, put_item=[fails(service_error("TransactionConflictException"))])

        world.store.erase_personal(RUN_ID)

        assert world.store.personal(RUN_ID) is None

    def test_given_a_mistake_of_ours_when_called_then_it_is_not_taken_for_weather(
        self, client: Any
    ) -> None:
        world = World(client, query=[fails(KeyError("a bug"))])

        with pytest.raises(KeyError):
            world.store.load(RUN_ID)
