"""When a counter-effect is not made: for what it would undo, who stopped it, or the version."""

from collections.abc import Callable

import pytest

from ledger.approve import Decision
from ledger.compensation import no_reason_to_undo
from ledger.counter import perform_counter
from ledger.task import Task
from ledger.transitions import EffectState, RunState
from ledger.versions import Versions
from tests.fakes.clock import FakeTimeLeft
from tests.unit.ledger.desk import CLOSE, act
from tests.unit.ledger.sample import OF_ANOTHER_RUN, REFUND_ID, RUN_ID
from tests.unit.ledger.support import World, given
from tests.unit.ledger.test_counter import agreed, answer, fee_refused, made, offered_back, tick
from tests.unit.ledger.version_situations import (
    counter_effect_refused,
    counter_effect_unknown,
    refund_taken_back,
)
from tests.unit.ledger.versions import with_fee


def counter(world: World) -> None:
    """Let somebody try to make the counter-effect now."""
    time_left = FakeTimeLeft(world.clock, world.clock.now_ms() + 60_000)
    perform_counter(world.ports, time_left, RUN_ID)


@pytest.mark.parametrize("state", sorted(set(EffectState) - {EffectState.CONFIRMED}))
def test_given_what_is_not_confirmed_when_asked_then_there_is_nothing_to_undo(
    state: EffectState,
) -> None:
    world = fee_refused()
    assert no_reason_to_undo(world.definition, world.ledger, REFUND_ID) == ""
    given(world, world.effect().model_copy(update={"state": state}))

    for effect_id in (REFUND_ID, OF_ANOTHER_RUN):
        said = no_reason_to_undo(world.definition, world.ledger, effect_id)
        assert said == "What would be taken back is not confirmed."


def test_given_a_yes_and_a_run_that_was_stopped_since_then_nothing_is_begun() -> None:
    world = agreed()
    world.change(lambda draft: draft.send_to_review("somebody looks"))
    stopped, trail = world.ledger, world.events

    counter(world)
    assert (world.ledger, world.events) == (stopped, trail)
    closed = act(world, CLOSE)
    counter(world)

    assert made(world) == 0
    assert world.ledger == closed


def test_given_a_version_without_the_counter_effect_then_a_person_is_told() -> None:
    world = agreed()
    less = with_fee()
    assert less.version == world.definition.version
    world.versions = Versions({less.version: less})

    counter(world)

    assert world.run().state is RunState.REVIEW
    assert world.run().review_reason == f"no compatible version: {less.version} is not registered"
    assert made(world) == 0


def test_given_a_yes_when_an_execution_asks_where_it_stands_then_nobody_is_called_for() -> None:
    world = agreed()
    task = Task(run_id=RUN_ID, epoch=world.run().epoch)

    assert world.resume(task) == "Review"

    assert world.run().state is RunState.ACTIVE
    tick(world)
    assert made(world) == 1


def test_given_no_yes_yet_when_tried_then_nothing_is_begun() -> None:
    world = offered_back()
    before = world.ledger

    counter(world)

    assert world.ledger == before
    answer(world, Decision.APPROVE)
    counter(world)
    assert made(world) == 1


@pytest.mark.parametrize("closed", [False, True])
@pytest.mark.parametrize(
    "situation", [counter_effect_refused, counter_effect_unknown, refund_taken_back]
)
def test_given_a_yes_that_was_used_and_a_run_that_does_not_go_on_then_nothing_is_tried(
    situation: Callable[[], World], closed: bool
) -> None:
    world = situation()
    state = RunState.CLOSED if closed else RunState.REVIEW
    given(world, state=state)
    assert world.ledger.counter_approval() is not None
    before, trail = world.ledger, world.events

    counter(world)

    assert (world.ledger, world.events) == (before, trail)
