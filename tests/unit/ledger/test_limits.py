"""Numbers at their limits: the last look in time, one read that is enough, no second execution."""

import pytest

from ledger.due import MIN_LOOK_INTERVAL_SECONDS, next_look_at_ms, read_wait_seconds
from ledger.execution import continue_after_review
from ledger.transitions import EffectState, RunState
from tests.unit.ledger.sample import (
    OPERATOR,
    PAYMENTS,
    RECOVERY_DEADLINE_SECONDS,
    RUN_ID,
    a_refund,
)
from tests.unit.ledger.support import a_world, given


def test_given_a_deadline_that_is_just_over_when_due_then_the_next_read_decides() -> None:
    world = a_world()
    now_ms = world.clock.now_ms()
    since_ms = now_ms - RECOVERY_DEADLINE_SECONDS * 1000
    refund = a_refund(EffectState.UNKNOWN, unsettled_since_ms=since_ms, reconcile_reads=6)
    given(world, refund)

    wait_seconds = read_wait_seconds(refund)
    assert wait_seconds > MIN_LOOK_INTERVAL_SECONDS
    assert next_look_at_ms(world.ledger, now_ms) == now_ms + wait_seconds * 1000


def test_given_a_provider_of_which_one_read_is_enough_when_asked_then_absence_can_be_proven() -> (
    None
):
    assert PAYMENTS.model_copy(update={"absence_reads": 1}).absence_can_be_proven
    assert not PAYMENTS.model_copy(update={"absence_reads": 0}).absence_can_be_proven


@pytest.mark.parametrize(
    ("state", "started"),
    [(RunState.ACTIVE, True), (RunState.AWAITING_APPROVAL, False), (RunState.REVIEW, False)],
)
def test_given_a_run_that_no_review_has_just_let_go_when_continued_then_it_keeps_its_execution(
    state: RunState, started: bool
) -> None:
    world = a_world()
    given(world, state=state, execution_started=started)
    starts = list(world.executions.starts)

    continue_after_review(world.ports, RUN_ID, "an operator acted", OPERATOR)

    assert world.run().epoch == 1
    assert world.executions.starts == starts
