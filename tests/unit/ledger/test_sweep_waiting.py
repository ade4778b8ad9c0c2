"""Looking after a run that waits for its customer, or for somebody to act on the answer."""

from ledger.event import EventKind
from ledger.sweep import SweepResult
from ledger.transitions import EffectState
from tests.unit.ledger.sample import (
    APPROVAL_LIFETIME_SECONDS,
    RUN_ID,
    a_refund,
)
from tests.unit.ledger.support import a_world, given, wait_until_due

E1, E2 = f"{RUN_ID}-e1", f"{RUN_ID}-e2"


def test_a_run_that_waits_for_its_customer_is_left_to_wait() -> None:
    world = a_world()
    world.ask()
    given(world, a_refund(EffectState.UNKNOWN, unsettled_since_ms=world.clock.now_ms()))
    wait_until_due(world)

    assert world.sweep() is SweepResult.WAITING

    assert world.doorbell.rung == []
    assert world.executions.starts == [E1]


def test_a_request_that_ran_out_goes_to_a_person() -> None:
    world = a_world()
    world.ask()
    world.pass_seconds(APPROVAL_LIFETIME_SECONDS)

    assert world.sweep() is SweepResult.REVIEW

    assert EventKind.APPROVAL_LAPSED in world.kinds


def test_a_yes_whose_doorbell_failed_wakes_the_execution_that_waits() -> None:
    world = a_world()
    world.ask()
    world.doorbell.silent = True
    world.decide()
    world.doorbell.silent = False
    wait_until_due(world)

    assert world.sweep() is SweepResult.WOKEN

    assert world.doorbell.rung == ["token-1"]
    assert world.executions.starts == [E1]


def test_a_yes_whose_doorbell_nobody_hears_gets_a_new_execution() -> None:
    world = a_world()
    world.ask()
    world.doorbell.stale = {"token-1"}
    world.decide()
    wait_until_due(world)

    assert world.sweep() is SweepResult.REPLACED
    assert world.executions.starts == [E1, E2]
