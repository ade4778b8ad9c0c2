"""What follows when an operator asks the provider again, or lets a run go on."""

from collections.abc import Callable

import pytest

from ledger.act import EXTRA_EXECUTIONS
from ledger.errors import RetryLater
from ledger.event import EventKind
from ledger.ports import StartOutcome
from ledger.task import Task
from ledger.transitions import EffectState, RunState
from tests.unit.ledger.desk import (
    AGAIN,
    MARK,
    RECONCILE,
    RESUME,
    SENT,
    act,
    go_on,
    offer,
)
from tests.unit.ledger.sample import (
    LEASE_SECONDS,
    RECEIPT_ID,
    RUN_ID,
    SETTLE_WINDOW_SECONDS,
    a_record,
)
from tests.unit.ledger.situations import (
    attempts_used_up,
    mail_attempting,
    refund_attempting,
    refund_contradicted,
    refund_in_conflict,
    refund_key_in_conflict,
    refund_overdue,
    refund_unknown,
    refund_vanished,
)
from tests.unit.ledger.support import World, wait_until_due


def test_a_conflict_that_matches_meanwhile_is_proven_and_the_run_may_go_on() -> None:
    world = refund_in_conflict()
    world.payments.held[:] = [a_record()]

    act(world, RECONCILE)

    assert world.effect().state is EffectState.CONFIRMED
    assert offer(world, RESUME).allowed
    assert len(world.payments.calls) == 1
    act(world, RESUME)
    go_on(world)
    assert world.run().state is RunState.COMPLETED
    assert (len(world.payments.calls), len(world.post.calls)) == (1, 1)


@pytest.mark.parametrize(
    "make", [refund_in_conflict, refund_vanished, refund_contradicted], ids=lambda m: m.__name__
)
def test_what_is_still_so_stays_with_the_operator(make: Callable[[], World]) -> None:
    world = make()

    act(world, RECONCILE)
    world.pass_seconds(SETTLE_WINDOW_SECONDS)
    world.reconcile()
    go_on(world)

    assert world.run().state is RunState.REVIEW
    assert not offer(world, RESUME).allowed
    assert len(world.payments.calls) == 1


def test_a_record_that_was_seen_once_is_never_proven_absent() -> None:
    world = refund_vanished()
    for _ in range(3):
        act(world, RECONCILE)
        world.pass_seconds(SETTLE_WINDOW_SECONDS)
        world.reconcile()

    assert world.effect().state is EffectState.CONFLICT
    assert len(world.payments.calls) == 1


def test_an_overdue_refund_that_is_found_lets_the_run_go_on_by_itself() -> None:
    world = refund_overdue()

    act(world, RECONCILE)

    assert world.run().state is RunState.ACTIVE
    assert world.executions.starts[-1] == f"{RUN_ID}-e2"
    go_on(world)
    assert world.run().state is RunState.COMPLETED


def test_a_refund_of_ours_whose_key_met_another_request_is_sent_again_by_an_operator_only() -> None:
    world = refund_key_in_conflict()
    key = world.effect().idempotency_key
    world.pass_seconds(LEASE_SECONDS)

    act(world, RECONCILE)
    world.pass_seconds(SETTLE_WINDOW_SECONDS)
    world.reconcile()

    assert world.effect().state is EffectState.PLANNED
    assert world.run().state is RunState.REVIEW
    assert len(world.payments.calls) == 1
    act(world, RESUME)
    go_on(world)
    assert [call.idempotency_key for call in world.payments.calls] == [key, key]


@pytest.mark.parametrize(
    ("make", "action"),
    [(refund_unknown, RECONCILE), (refund_attempting, RECONCILE), (refund_attempting, MARK)],
    ids=["reconcile unknown", "reconcile attempting", "mark attempting"],
)
def test_a_running_execution_is_left_alone(make: Callable[[], World], action: str) -> None:
    world = make()

    act(world, action)

    assert world.run().epoch == 1
    assert world.executions.starts == [f"{RUN_ID}-e1"]


def test_a_live_claim_is_not_looked_behind() -> None:
    world = refund_attempting()

    act(world, RECONCILE)

    assert world.effect().state in (EffectState.ATTEMPTING, EffectState.CONFIRMED)
    world.pass_seconds(LEASE_SECONDS)
    act_or_nothing(world, RECONCILE)
    assert world.effect().state is EffectState.CONFIRMED


def act_or_nothing(world: World, action: str) -> None:
    """Act where it is allowed."""
    if offer(world, action).allowed:
        act(world, action)


def test_a_mail_whose_worker_died_is_put_to_the_operator() -> None:
    world = mail_attempting()

    act(world, RECONCILE)

    assert world.effect(RECEIPT_ID).state is EffectState.UNKNOWN
    assert offer(world, AGAIN, RECEIPT_ID).allowed
    assert offer(world, SENT, RECEIPT_ID).allowed


def test_to_resume_gives_new_executions_and_new_attempts() -> None:
    world = attempts_used_up()
    epoch = world.run().epoch

    act(world, RESUME)

    run = world.run()
    assert (run.state, run.review_reason) == (RunState.ACTIVE, "")
    assert run.epoch == epoch + 1
    assert run.max_executions == epoch + EXTRA_EXECUTIONS
    assert world.executions.starts[-1] == run.execution_name
    go_on(world)
    assert world.run().state is RunState.COMPLETED


def test_an_execution_that_could_not_be_started_is_started_by_the_sweeper(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = attempts_used_up()

    def no_answer(*_arguments: object) -> StartOutcome:
        raise RetryLater("no answer")

    with monkeypatch.context() as patch:
        patch.setattr(world.executions, "start", no_answer)
        act(world, RESUME)

    assert EventKind.OPERATOR_ACTED in world.kinds
    assert world.run().state is RunState.ACTIVE
    wait_until_due(world)
    world.sweep()
    assert world.executions.starts[-1] == f"{RUN_ID}-e2"


def test_an_older_execution_may_not_act_after_a_resume() -> None:
    world = attempts_used_up()
    act(world, RESUME)

    where = world.resume(Task(run_id=RUN_ID, epoch=world.run().epoch))

    assert where == "IssueRefund"
    assert world.run().epoch == 2
