"""A sweep while something is being taken back, and after it was."""

import pytest

from ledger.ports import ExecutionStatus
from ledger.provider import RecordStatus
from ledger.sweep import SweepResult
from ledger.transitions import EffectState, RunState
from tests.unit.ledger.sample import HOUR_SECONDS, LEASE_SECONDS, NO_ANSWER
from tests.unit.ledger.scripted_provider import Step
from tests.unit.ledger.support import a_world, given, wait_until_due
from tests.unit.ledger.test_counter import agreed, counter_of, offered_back, tick

RECHECKED = {"rechecks_after_seconds": (HOUR_SECONDS,)}


def test_given_a_customer_who_is_asked_for_it_when_swept_then_nothing_is_to_be_made_yet() -> None:
    world = offered_back()
    given(world, world.effect().model_copy(update=RECHECKED))
    wait_until_due(world)

    assert world.sweep() is SweepResult.WAITING
    assert world.run().state is RunState.AWAITING_APPROVAL


def test_given_a_counter_effect_in_doubt_when_swept_then_it_is_not_to_be_made_again() -> None:
    world = agreed()
    world.payments.script = [Step(RecordStatus.DONE, NO_ANSWER)]
    tick(world)
    assert counter_of(world).state is EffectState.UNKNOWN
    world.pass_seconds(LEASE_SECONDS)
    world.payments.read_fault = NO_ANSWER
    wait_until_due(world)

    assert world.sweep() is SweepResult.WAITING


def test_given_one_effect_taken_back_when_swept_then_what_stands_is_still_asked_for() -> None:
    world = agreed()
    tick(world)
    given(
        world,
        world.effect().model_copy(update=RECHECKED),
        counter_of(world).model_copy(update=RECHECKED),
    )
    world.pass_seconds(HOUR_SECONDS)

    world.sweep()

    assert counter_of(world).rechecks_made == 1
    assert world.effect().rechecks_made == 0


def test_given_a_run_that_is_due_when_swept_then_its_execution_is_asked_for_by_its_version(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = a_world()
    asked: list[tuple[str, str]] = []

    def status(workflow: str, execution_name: str) -> ExecutionStatus:
        asked.append((workflow, execution_name))
        return ExecutionStatus.RUNNING

    monkeypatch.setattr(world.executions, "status", status)
    world.sweep()

    assert asked == [(world.definition.version, "run_a-e1")]
