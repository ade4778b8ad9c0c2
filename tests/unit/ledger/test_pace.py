"""A provider that is not reached is given time, and nobody goes in circles meanwhile."""

import pytest

from ledger.errors import ProviderUnavailable
from ledger.pace import FIRST_PAUSE_SECONDS, pause_left_seconds
from ledger.reconcile import MAX_WAIT_SECONDS, Standing
from ledger.sweep import SweepResult
from ledger.transitions import EffectState, RunState
from tests.unit.ledger.sample import NEVER_SENT, REFUND_ID
from tests.unit.ledger.scripted_provider import Step
from tests.unit.ledger.support import World, an_approved_world

LONG_ENOUGH = 16  # attempts until a pause is longer than a state machine's longest wait


def not_reached(times: int) -> World:
    """Return a world whose refund never left, so many times, each after its pause."""
    world = an_approved_world()
    world.payments.script = [Step(None, NEVER_SENT)] * times
    for _ in range(times):
        if any(found.effect_id == REFUND_ID for found in world.ledger.effects):
            world.pass_seconds(pause_left_seconds(world.effect(), world.clock.now_ms()))
        with pytest.raises(ProviderUnavailable, match="never reached"):
            world.perform()
    return world


@pytest.mark.parametrize("times", [3, 6, 9])
def test_given_a_pause_when_reconciled_then_the_execution_waits_for_all_of_it(times: int) -> None:
    world = not_reached(times)
    left_seconds = pause_left_seconds(world.effect(), world.clock.now_ms())
    assert 0 < left_seconds <= FIRST_PAUSE_SECONDS << times

    outcome = world.reconcile()

    assert (outcome.standing, outcome.wait_seconds) == (Standing.WAIT, left_seconds)
    world.pass_seconds(left_seconds)
    assert world.reconcile().standing is Standing.SETTLED
    assert world.perform().state is EffectState.CONFIRMED


def test_given_a_pause_beyond_the_longest_wait_when_reconciled_then_it_waits_piece_by_piece() -> (
    None
):
    world = not_reached(LONG_ENOUGH)
    while pause_left_seconds(world.effect(), world.clock.now_ms()) <= MAX_WAIT_SECONDS:
        world.pass_seconds(pause_left_seconds(world.effect(), world.clock.now_ms()))
        world.payments.script = [Step(None, NEVER_SENT)]
        with pytest.raises(ProviderUnavailable, match="never reached"):
            world.perform()

    outcome = world.reconcile()

    assert (outcome.standing, outcome.wait_seconds) == (Standing.WAIT, MAX_WAIT_SECONDS)
    world.pass_seconds(MAX_WAIT_SECONDS)
    assert world.reconcile().standing is Standing.WAIT


def test_given_a_pause_when_the_sweeper_would_look_then_not_before_it_is_over() -> None:
    world = not_reached(9)
    run = world.run()
    left_seconds = pause_left_seconds(world.effect(), world.clock.now_ms())
    assert left_seconds > 0

    deadline_seconds = left_seconds + run.progress_deadline_seconds

    assert run.due_at_ms == world.clock.now_ms() + deadline_seconds * 1000
    world.pass_seconds(left_seconds)
    assert world.sweep() is SweepResult.SKIPPED
    assert world.run().epoch == run.epoch


def test_given_a_run_in_review_when_reconciled_then_no_pause_hides_that() -> None:
    world = not_reached(6)
    world.change(lambda draft: draft.send_to_review("a person has to look"))
    assert world.run().state is RunState.REVIEW

    assert world.reconcile().standing is Standing.REVIEW
