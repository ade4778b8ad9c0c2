"""A refusal is explained by what is at the target, unless somebody has gone on meanwhile."""

from ledger.effect import Effect
from ledger.event import EventKind
from ledger.plan import existing_or_planned
from ledger.review import review_what_stands_in_the_way
from ledger.run import RunLedger
from ledger.task import Task
from ledger.transitions import EffectState, RunState
from tests.unit.ledger.sample import (
    DEFINITION,
    OF_ANOTHER_RUN,
    RUN_ID,
    TASK,
    a_record,
    a_refund,
)
from tests.unit.ledger.support import World, an_approved_world, given

REASON = "nothing is left to refund"


def a_world_with_a_stranger() -> World:
    """Return a world in which a colleague's refund is at the target."""
    world = an_approved_world()
    world.payments.held.append(a_record(record_id="re_dashboard", mark=OF_ANOTHER_RUN))
    return world


def explain(world: World, seen: RunLedger | None = None, task: Task = TASK) -> None:
    """Send the run to review for what stands in the way of its refund."""
    seen = seen or world.ledger
    planned: Effect = existing_or_planned(
        world.ports, DEFINITION, DEFINITION.operation("refund"), seen
    )
    review_what_stands_in_the_way(world.ports, task, seen, planned, REASON)


def test_given_a_refund_never_planned_when_explained_then_it_is_written_with_its_event() -> None:
    world = a_world_with_a_stranger()

    explain(world)

    assert world.run().review_reason == REASON
    assert [found.record_id for found in world.effect().candidates] == ["re_dashboard"]
    assert world.effect().state is EffectState.PLANNED
    assert EventKind.EFFECT_PLANNED in world.kinds


def test_given_a_refund_on_record_when_explained_then_it_is_not_planned_twice() -> None:
    world = a_world_with_a_stranger()
    given(world, a_refund())

    explain(world)

    assert world.run().state is RunState.REVIEW
    assert [found.record_id for found in world.effect().candidates] == ["re_dashboard"]
    assert EventKind.EFFECT_PLANNED not in world.kinds


def test_given_nothing_at_the_target_when_explained_then_it_is_left_to_the_caller() -> None:
    world = an_approved_world()

    explain(world)

    assert world.run().state is RunState.ACTIVE
    assert world.ledger.effects == ()


def test_given_a_stranger_that_is_gone_when_explained_again_then_it_is_shown_no_more() -> None:
    world = a_world_with_a_stranger()
    explain(world)
    world.payments.held.clear()
    given(world, state=RunState.ACTIVE)

    explain(world)

    assert world.effect().candidates == ()
    assert world.run().state is RunState.REVIEW


def test_given_a_replaced_execution_when_explained_then_nothing_is_written() -> None:
    world = a_world_with_a_stranger()
    given(world, epoch=2)

    explain(world)

    assert world.run().state is RunState.ACTIVE
    assert world.ledger.effects == ()


def test_given_a_duplicate_that_went_on_when_explained_then_nothing_is_written() -> None:
    world = a_world_with_a_stranger()
    seen = world.ledger
    given(world, a_refund(EffectState.ATTEMPTING))

    explain(world, seen)

    assert world.run().state is RunState.ACTIVE
    assert world.effect().candidates == ()


def test_given_a_run_in_review_already_when_explained_then_its_first_reason_stays() -> None:
    world = a_world_with_a_stranger()
    world.change(lambda draft: draft.send_to_review("a person asked"))

    explain(world, task=Task(run_id=RUN_ID, epoch=1))

    assert world.run().review_reason == "a person asked"
    assert world.run().review_also == ()
