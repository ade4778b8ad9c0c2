"""One table of cancellation reasons, each with one meaning."""

from typing import Any

import pytest

from ledger.errors import InvariantBroken, LedgerMoved, LedgerUnavailable
from tests.builders import (
    RUN_ID,
    a_change,
    an_effect,
    personal_fields,
)
from tests.unit.adapters.faulty_client import (
    cancelled,
    fails,
    read_timeout,
    service_error,
)
from tests.unit.adapters.world import JITTER, World, healthy

CREATE = a_change("create", effects=(an_effect(),), personal=personal_fields())


class TestCancellationReasons:
    @pytest.mark.parametrize(
        ("error", "pause_ms"),
        [
            pytest.param(cancelled("TransactionConflict", "None"), 25, id="conflict"),
            pytest.param(service_error("TransactionInProgressException"), 25, id="in progress"),
            pytest.param(
                cancelled("TransactionConflict", "ThrottlingError"), 200, id="conflict, throttle"
            ),
            pytest.param(
                cancelled("None", "ProvisionedThroughputExceeded"), 200, id="provisioned throughput"
            ),
            pytest.param(service_error("ThrottlingException"), 200, id="throttled"),
            pytest.param(service_error("RequestLimitExceeded"), 200, id="account limit"),
            pytest.param(
                service_error("ProvisionedThroughputExceededException"), 200, id="throughput"
            ),
            pytest.param(cancelled("None", "SomeNewReason"), 200, id="a reason nobody knows"),
            pytest.param(service_error("InternalServerError", 500), 100, id="internal error"),
        ],
    )
    def test_given_a_passing_reason_when_committed_then_paused_and_written(
        self, client: Any, error: Exception, pause_ms: int
    ) -> None:
        world = World(client, transact_write_items=[fails(error)])

        world.store.commit(CREATE)

        assert world.pauses_ms == [JITTER * pause_ms]
        assert world.commit_ids() == ["create"]

    @pytest.mark.parametrize(
        ("error", "pauses_ms"),
        [
            (cancelled("TransactionConflict", "None"), [25, 50, 100, 200]),
            (cancelled("None", "ThrottlingError"), [200, 400, 800, 1_000]),
            (service_error("TransactionInProgressException"), [25, 50, 100, 200]),
            (service_error("InternalServerError", 500), [100, 200]),
        ],
    )
    def test_given_a_reason_that_does_not_pass_when_committed_then_bounded_and_nothing_written(
        self, client: Any, error: Exception, pauses_ms: list[int]
    ) -> None:
        world = World(client, transact_write_items=[fails(error)] * 100)

        with pytest.raises(LedgerUnavailable):
            world.store.commit(CREATE)

        assert world.pauses_ms == [JITTER * pause for pause in pauses_ms]
        assert len(world.sends()) == len(pauses_ms) + 1
        assert world.store.load(RUN_ID) is None

    @pytest.mark.parametrize(
        "error",
        [
            cancelled("ValidationError"),
            cancelled("ItemCollectionSizeLimitExceeded"),
            cancelled("ThrottlingError", "ValidationError"),
            service_error("ValidationException"),
            service_error("ResourceNotFoundException"),
            service_error("AccessDeniedException"),
        ],
        ids=lambda error: str(error),
    )
    def test_given_a_reason_that_no_repeat_changes_when_committed_then_loud_and_sent_once(
        self, client: Any, error: Exception
    ) -> None:
        world = World(client, transact_write_items=[fails(error)])

        with pytest.raises(InvariantBroken):
            world.store.commit(CREATE)

        assert len(world.sends()) == 1
        assert world.pauses_ms == []
        assert world.store.load(RUN_ID) is None

    @pytest.mark.parametrize(
        "error",
        [
            cancelled("ConditionalCheckFailed", "None"),
            cancelled("TransactionConflict", "ConditionalCheckFailed"),
            cancelled("ConditionalCheckFailed", "ThrottlingError"),
        ],
        ids=["alone", "with a conflict", "with a throttle"],
    )
    def test_given_a_refused_condition_without_the_old_item_then_the_event_is_read_and_decides(
        self, client: Any, error: Exception
    ) -> None:
        theirs = World(client, transact_write_items=[fails(error)])
        with pytest.raises(LedgerMoved):
            theirs.store.commit(CREATE)

        healthy(client).commit(CREATE)
        ours = World(client, transact_write_items=[fails(error)])
        ours.store.commit(CREATE)

        for world in (theirs, ours):
            assert len(world.sends()) == 1
            assert world.pauses_ms == []
            (read,) = world.client.requests("get_item")
            assert read["ConsistentRead"] is True
            assert read["Key"]["sk"] == {"S": "EVENT#0000000001"}

    def test_given_the_old_item_in_the_answer_when_deciding_then_no_read_is_made(
        self, client: Any
    ) -> None:
        healthy(client).commit(CREATE)
        world = World(client)

        world.store.commit(CREATE)
        with pytest.raises(LedgerMoved):
            world.store.commit(a_change("theirs"))

        assert world.client.requests("get_item") == []

    def test_given_a_token_seen_with_another_body_when_the_event_is_ours_then_success(
        self, client: Any
    ) -> None:
        healthy(client).commit(CREATE)
        error = service_error("IdempotentParameterMismatchException")

        World(client, transact_write_items=[fails(error)]).store.commit(CREATE)

    def test_given_a_token_seen_with_another_body_when_the_event_is_not_ours_then_loud(
        self, client: Any
    ) -> None:
        error = service_error("IdempotentParameterMismatchException")
        world = World(client, transact_write_items=[fails(error)])

        with pytest.raises(InvariantBroken, match="two changes"):
            world.store.commit(CREATE)

    @pytest.mark.parametrize(
        "error",
        [cancelled("ValidationError"), cancelled("ThrottlingError"), read_timeout()],
        ids=["refused", "throttled", "no answer"],
    )
    def test_given_any_fault_when_reported_then_the_services_words_are_left_out(
        self, client: Any, error: Exception
    ) -> None:
        world = World(client, transact_write_items=[fails(error)] * 10)

        with pytest.raises((InvariantBroken, LedgerUnavailable)) as caught:
            world.store.commit(CREATE)

        assert "in the service's own words" not in str(caught.value)
        assert "Ada" not in str(caught.value)
