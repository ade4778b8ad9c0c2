"""Giving a run an execution: assigned in the ledger, started by name, bounded in number."""

import pytest

from ledger.errors import LedgerUnavailable, RequestRefused
from ledger.event import EventKind
from ledger.execution import hold_seconds, replace_execution, start_execution
from ledger.ports import ExecutionStatus, StartOutcome
from ledger.sweep import SweepResult
from ledger.transitions import RunState
from tests.unit.ledger.desk import RESUME, act
from tests.unit.ledger.sample import MAX_EXECUTIONS, NO_ANSWER, OPERATOR, RUN_ID
from tests.unit.ledger.support import World, a_world, an_unknown_world, given, wait_until_due
from workflows.cancel_refund.v4.contract import DEFINITION as CANCEL_REFUND_4


def replace(world: World, ended_epoch: int = 1) -> StartOutcome | None:
    """Give the run a new execution for the one that ended."""
    return replace_execution(world.ports, RUN_ID, ended_epoch, "execution aborted", OPERATOR)


def a_fresh_world() -> World:
    """Return a world whose run has an execution assigned and not started."""
    world = a_world(execution_started=False)
    world.executions.statuses.clear()
    world.executions.starts.clear()
    return world


def test_an_assigned_execution_is_started_once_however_often_it_is_asked_for() -> None:
    world = a_fresh_world()

    outcomes = [start_execution(world.ports, RUN_ID, OPERATOR) for _ in range(3)]

    assert outcomes == [
        StartOutcome.STARTED,
        StartOutcome.ALREADY_RUNNING,
        StartOutcome.ALREADY_RUNNING,
    ]
    assert world.executions.starts == [f"{RUN_ID}-e1"]


def test_an_execution_that_ended_is_not_started_again_under_its_name() -> None:
    world = a_world()
    world.executions.statuses[f"{RUN_ID}-e1"] = ExecutionStatus.ENDED

    assert start_execution(world.ports, RUN_ID, OPERATOR) is StartOutcome.ALREADY_ENDED


@pytest.mark.parametrize("state", [RunState.REVIEW, RunState.COMPLETED, RunState.CLOSED])
def test_a_run_that_no_execution_can_help_gets_none(state: RunState) -> None:
    world = a_fresh_world()
    given(world, state=state)

    assert start_execution(world.ports, RUN_ID, OPERATOR) is None
    assert replace(world) is None
    assert world.executions.starts == []
    assert world.run().epoch == 1


@pytest.mark.parametrize("state", [RunState.ACTIVE, RunState.AWAITING_APPROVAL])
def test_an_open_run_whose_execution_ended_gets_the_next_one(state: RunState) -> None:
    world = a_world()
    given(world, state=state)

    assert replace(world) is StartOutcome.STARTED

    run = world.ledger.run
    assert run.epoch == 2
    assert not run.execution_started
    assert world.executions.starts[-1] == f"{RUN_ID}-e2"
    assigned = world.events[-1]
    assert assigned.kind is EventKind.EXECUTION_ASSIGNED
    assert (assigned.prior_state, assigned.state) == (f"{RUN_ID}-e1", f"{RUN_ID}-e2")
    assert assigned.reason == "execution aborted"


def test_a_notice_delivered_again_starts_nothing_more() -> None:
    world = a_world()

    replace(world)
    replace(world)

    assert world.run().epoch == 2
    assert world.executions.starts.count(f"{RUN_ID}-e2") == 1


def test_a_notice_about_an_execution_replaced_long_ago_changes_nothing() -> None:
    world = a_world()
    replace(world, 1)
    replace(world, 2)
    before = world.events

    assert replace(world, 1) is None

    assert world.events == before


def test_a_notice_about_an_execution_not_assigned_yet_changes_nothing() -> None:
    world = a_world()

    assert replace(world, 7) is None
    assert world.run().epoch == 1


def test_two_notices_together_assign_one_execution() -> None:
    world = a_world()

    def rival() -> None:
        replace(world)

    world.store.rivals = [rival]
    replace(world)

    assert world.run().epoch == 2
    assert world.kinds.count(EventKind.EXECUTION_ASSIGNED) == 1
    assert world.executions.starts.count(f"{RUN_ID}-e2") == 1


def test_an_assignment_that_cannot_be_written_starts_nothing() -> None:
    world = a_world()
    world.store.failure = LedgerUnavailable("no answer")

    with pytest.raises(LedgerUnavailable):
        replace(world)

    assert f"{RUN_ID}-e2" not in world.executions.starts


def test_executions_that_end_one_after_another_lead_to_a_person() -> None:
    world = a_world()
    for epoch in range(1, MAX_EXECUTIONS):
        assert replace(world, epoch) is not None

    assert replace(world, MAX_EXECUTIONS) is None

    run = world.ledger.run
    assert run.epoch == MAX_EXECUTIONS
    assert run.state is RunState.REVIEW
    assert f"{MAX_EXECUTIONS} executions" in run.review_reason


def test_the_first_replacement_starts_at_once_and_each_later_one_is_held_back_longer() -> None:
    world = a_world()

    assert replace(world, 1) is StartOutcome.STARTED
    assert replace(world, 2) is StartOutcome.HELD_BACK

    run = world.ledger.run
    assert run.due_at_ms == run.start_not_before_ms
    assert run.start_not_before_ms == world.clock.now_ms() + hold_seconds(RUN_ID, 3) * 1000


def test_what_a_run_may_have_outlasts_failures_for_an_hour() -> None:
    for number in range(200):
        holds = [
            hold_seconds(f"run_{number}", epoch)
            for epoch in range(1, CANCEL_REFUND_4.max_executions + 1)
        ]

        assert holds[:2] == [0, 0]
        assert holds[2:] == sorted(set(holds[2:]))
        assert sum(holds) > 3600


def test_executions_that_ended_together_are_not_replaced_together() -> None:
    holds = {hold_seconds(f"run_{number}", 3) for number in range(200)}

    assert len(holds) > 100
    assert max(holds) > 1.9 * min(holds)


def test_an_execution_that_is_held_back_is_started_by_the_sweeper_when_it_is_due() -> None:
    world = a_world()
    replace(world, 1)
    replace(world, 2)
    started = len(world.executions.starts)

    world.pass_seconds(60)
    assert world.sweep() is SweepResult.SKIPPED
    wait_until_due(world)
    assert world.sweep() is SweepResult.STARTED

    assert len(world.executions.starts) == started + 1


def held_back(world: World) -> int:
    """Hold the third execution back; return until when."""
    outcomes = []
    for epoch in (1, 2):
        world.executions.statuses[f"{RUN_ID}-e{epoch}"] = ExecutionStatus.ENDED
        outcomes.append(replace(world, epoch))
    assert outcomes == [StartOutcome.STARTED, StartOutcome.HELD_BACK]
    return world.run().start_not_before_ms


def test_a_hold_is_kept_although_an_unsettled_effect_makes_the_run_due_before_its_end() -> None:
    world = an_unknown_world()
    world.payments.read_fault = NO_ANSWER
    until_ms = held_back(world)

    looks = 0
    while world.clock.now_ms() < until_ms:
        assert f"{RUN_ID}-e3" not in world.executions.starts
        wait_until_due(world)
        looks += 1
        result = world.sweep()
        assert result is (
            SweepResult.WAITING if world.clock.now_ms() < until_ms else SweepResult.STARTED
        )

    assert looks > 1  # the effect was read meanwhile
    assert world.executions.starts[-1] == f"{RUN_ID}-e3"


def test_a_start_that_is_asked_for_during_a_hold_is_held_back() -> None:
    world = a_world()
    until_ms = held_back(world)

    world.clock.move_to(until_ms - 1)
    assert start_execution(world.ports, RUN_ID, OPERATOR) is StartOutcome.HELD_BACK
    assert f"{RUN_ID}-e3" not in world.executions.starts
    world.clock.move_to(until_ms)
    assert start_execution(world.ports, RUN_ID, OPERATOR) is StartOutcome.STARTED


def test_a_person_who_lets_a_run_go_on_ends_its_hold() -> None:
    world = a_world()
    held_back(world)
    world.change(lambda draft: draft.send_to_review("a person asked"))

    act(world, RESUME)

    assert world.executions.starts[-1] == f"{RUN_ID}-e4"
    assert world.run().start_not_before_ms == world.clock.now_ms()


@pytest.mark.parametrize("how", ["start", "replace"])
def test_a_version_that_is_not_deployed_leads_to_a_person(how: str) -> None:
    world = a_world()
    world.executions.deployed = False

    outcome = start_execution(world.ports, RUN_ID, OPERATOR) if how == "start" else replace(world)

    assert outcome is StartOutcome.NO_SUCH_VERSION
    assert world.run().state is RunState.REVIEW
    assert "no compatible version: give-back@2" in world.run().review_reason


def test_a_run_that_is_not_there_is_not_started() -> None:
    world = World()

    with pytest.raises(RequestRefused):
        start_execution(world.ports, RUN_ID, OPERATOR)
