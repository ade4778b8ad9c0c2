"""What an operator's action leaves behind: reasons, fresh clocks, new executions, and no more."""

import pytest

from ledger.act import EXTRA_EXECUTIONS
from ledger.transitions import EffectState
from tests.unit.ledger.desk import ASK, RECONCILE, RESUME, act, choice, take
from tests.unit.ledger.sample import NO_ANSWER, a_record
from tests.unit.ledger.situations import (
    refund_in_conflict,
    refund_rejected,
    refund_unknown,
)
from tests.unit.ledger.support import World, given


def test_given_a_reason_of_one_character_when_acted_then_it_counts() -> None:
    world = refund_rejected()

    take(world, choice(world, ASK, reason="?"))

    assert world.events[-2].reason == "?"


@pytest.mark.parametrize("action", [ASK, RESUME])
def test_given_all_executions_used_when_an_operator_acts_then_the_run_has_new_ones(
    action: str,
) -> None:
    world = refund_rejected() if action == ASK else refund_found_in_review()
    given(world, epoch=3, max_executions=3)

    act(world, action)

    assert world.run().max_executions == 3 + EXTRA_EXECUTIONS


def refund_found_in_review() -> World:
    """Return a run in review whose refund is confirmed again."""
    world = refund_in_conflict()
    world.payments.held[:] = [a_record()]
    act(world, RECONCILE)
    return world


def test_given_a_conflict_when_the_provider_is_asked_again_then_the_search_begins_anew() -> None:
    world = refund_in_conflict()
    given(world, world.effect().model_copy(update={"absence_reads_at_ms": (1, 2)}))
    world.payments.read_fault = NO_ANSWER
    assert world.effect().candidates

    act(world, RECONCILE)

    effect = world.effect()
    assert effect.state is EffectState.UNKNOWN
    assert effect.unsettled_since_ms == world.clock.now_ms()
    assert effect.absence_reads_at_ms == ()
    assert effect.candidates == ()
    assert world.run().max_executions == world.run().epoch + EXTRA_EXECUTIONS


def test_given_an_execution_that_has_not_reported_in_when_reconciled_then_it_is_left_alone() -> (
    None
):
    world = refund_unknown()
    given(world, execution_started=False)
    epoch = world.run().epoch

    act(world, RECONCILE)

    assert world.effect().state is EffectState.CONFIRMED
    assert world.run().epoch == epoch
