"""Opening a run: one key of one caller, one run, and nothing started for a bad request."""

import pytest

from ledger.admission import Opening, check_targets, open_run
from ledger.errors import LedgerUnavailable, ProviderUnavailable, RequestRefused
from ledger.event import Actor, EventKind
from ledger.idempotency import run_id_for
from ledger.provider import Authority
from ledger.run import RunLedger
from ledger.transitions import RunState
from tests.unit.ledger.sample import AGENT, NO_ANSWER, REQUEST
from tests.unit.ledger.support import World


def an_opening(
    actor: Actor = AGENT, caller_key: str = "request-1", **request: str | int
) -> Opening:
    """Return a caller's request for the sample workflow."""
    return Opening(
        tenant_id="tenant-1", actor=actor, caller_key=caller_key, request={**REQUEST, **request}
    )


def opened(world: World, opening: Opening | None = None) -> RunLedger:
    """Open a run of the sample workflow."""
    return open_run(world.ports, world.definition, opening or an_opening())


def test_a_run_is_written_down_with_what_was_asked_and_by_whom() -> None:
    world = World()

    run = opened(world).run

    assert run.run_id == run_id_for("tenant-1", "agent-1", "request-1")
    assert run.state is RunState.ACTIVE
    assert run.request == REQUEST
    assert run.workflow == "give-back@2"
    assert run.customer_id == "cus_1"
    assert run.epoch == 1
    assert run.due_at_ms is not None
    (event,) = world.store.events(run.run_id, 0, 10)
    assert event.kind is EventKind.RUN_OPENED
    assert event.actor == AGENT
    assert event.details == {"request_digest": run.request_digest}


def test_a_run_is_written_down_before_any_execution_or_effect() -> None:
    world = World()

    opened(world)

    assert world.executions.starts == []
    assert world.payments.calls == []


def test_the_same_key_with_the_same_request_is_the_same_run() -> None:
    world = World()
    first = opened(world)
    world.pass_seconds(60)

    again = opened(world)

    assert again == first
    assert len(world.store.events(first.run.run_id, 0, 10)) == 1


def test_a_repeat_needs_no_word_of_the_owner_any_more() -> None:
    world = World()
    first = opened(world)
    world.payments.authority_fault = NO_ANSWER

    assert opened(world) == first


def test_the_same_key_with_another_request_is_refused() -> None:
    world = World()
    opened(world)

    with pytest.raises(RequestRefused) as refused:
        opened(world, an_opening(amount_minor=79000))

    assert refused.value.problem == "idempotency-key-reused"


def test_the_same_key_for_another_version_is_refused() -> None:
    world = World()
    opened(world)
    world.definition = world.definition.model_copy(update={"number": 3})

    with pytest.raises(RequestRefused) as refused:
        opened(world)

    assert refused.value.problem == "idempotency-key-reused"


def test_another_key_or_caller_is_another_run() -> None:
    world = World()
    runs = {
        opened(world).run.run_id,
        opened(world, an_opening(caller_key="request-2")).run.run_id,
        opened(world, an_opening(Actor(kind="agent", actor_id="agent-2"))).run.run_id,
    }

    assert len(runs) == 3


def test_a_race_lost_to_ones_own_repeat_gives_the_repeats_run() -> None:
    world = World()
    winners: list[RunLedger] = []

    def rival() -> None:
        winners.append(opened(world))

    world.store.rivals = [rival]

    loser = opened(world)

    assert [loser] == winners
    assert len(world.store.events(loser.run.run_id, 0, 10)) == 1


def test_a_race_lost_to_another_request_under_the_same_key_is_refused() -> None:
    world = World()

    def rival() -> None:
        opened(world, an_opening(amount_minor=1))

    world.store.rivals = [rival]

    with pytest.raises(RequestRefused) as refused:
        opened(world)

    assert refused.value.problem == "idempotency-key-reused"


def test_a_target_that_does_not_allow_it_starts_nothing() -> None:
    world = World()
    world.payments.allowed = Authority(allowed=False, reason="charge disputed", snapshot={})

    with pytest.raises(RequestRefused, match="charge disputed") as refused:
        opened(world)

    assert refused.value.problem == "not-allowed"
    assert world.store.load(run_id_for("tenant-1", "agent-1", "request-1")) is None


def test_a_target_that_cannot_be_read_starts_nothing_and_may_be_asked_again() -> None:
    world = World()
    world.payments.authority_fault = NO_ANSWER

    with pytest.raises(ProviderUnavailable):
        opened(world)

    assert world.store.load(run_id_for("tenant-1", "agent-1", "request-1")) is None
    world.payments.authority_fault = None
    assert opened(world).run.state is RunState.ACTIVE


def test_a_ledger_that_gives_no_answer_is_not_taken_for_a_run() -> None:
    world = World()
    world.store.failure = LedgerUnavailable("no answer")

    with pytest.raises(LedgerUnavailable):
        opened(world)


def test_only_writes_that_need_a_yes_are_checked_before_the_run_is_opened() -> None:
    world = World()
    world.post.authority_fault = NO_ANSWER

    snapshot = check_targets(world.ports, world.definition, dict(REQUEST))

    assert snapshot == {"refund_refundable": 10000}
