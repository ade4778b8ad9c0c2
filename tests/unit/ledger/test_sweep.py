"""Looking after a nominated run: the index nominates, the ledger as read now decides."""

import pytest

from ledger.effect import LONGEST_LEASE_SECONDS
from ledger.errors import EffectUnknown, LedgerUnavailable
from ledger.event import Actor, EventKind
from ledger.ports import ExecutionStatus
from ledger.provider import RecordStatus
from ledger.sweep import SweepResult
from ledger.transitions import EffectState, RunState
from tests.builders import an_attempt
from tests.unit.ledger.sample import (
    MAX_EXECUTIONS,
    NO_ANSWER,
    RECOVERY_DEADLINE_SECONDS,
    RUN_ID,
    a_refund,
)
from tests.unit.ledger.scripted_provider import Step
from tests.unit.ledger.support import World, a_world, an_approved_world, given, wait_until_due

E1, E2 = f"{RUN_ID}-e1", f"{RUN_ID}-e2"


def an_unknown_world(made: RecordStatus | None = RecordStatus.DONE) -> World:
    """Return a world whose refund lost its answer."""
    world = an_approved_world()
    world.payments.script = [Step(made, NO_ANSWER)]
    with pytest.raises(EffectUnknown):
        world.perform()
    return world


def test_a_run_that_is_not_due_is_left_alone_though_the_index_named_it() -> None:
    world = a_world()
    world.resume()
    given(world)
    due_at_ms = world.run().due_at_ms
    assert due_at_ms is not None
    world.clock.move_to(due_at_ms - 1)
    before = world.events

    assert world.sweep() is SweepResult.SKIPPED

    assert world.events == before


@pytest.mark.parametrize("state", [RunState.COMPLETED, RunState.CLOSED])
def test_an_ended_run_is_left_alone_though_the_index_named_it(state: RunState) -> None:
    world = a_world()
    given(world, state=state)
    before = world.events
    world.pass_seconds(365 * 24 * 3600)

    assert world.sweep() is SweepResult.SKIPPED

    assert world.events == before


def test_a_run_whose_worker_is_in_mid_call_is_left_alone_whatever_else_is_due() -> None:
    world = an_approved_world()
    lease_until_ms = world.clock.now_ms() + LONGEST_LEASE_SECONDS * 1000
    given(
        world,
        a_refund(EffectState.ATTEMPTING, attempts=(an_attempt(lease_until_ms=lease_until_ms),)),
        a_refund(
            EffectState.UNKNOWN, effect_id="eff_other", unsettled_since_ms=world.clock.now_ms()
        ),
    )
    wait_until_due(world)
    assert world.clock.now_ms() < lease_until_ms
    before = world.events

    assert world.sweep() is SweepResult.SKIPPED

    assert world.payments.look_ups == 0
    assert world.events == before
    world.clock.move_to(lease_until_ms)
    assert world.sweep() is not SweepResult.SKIPPED


def test_one_tick_delivered_three_times_looks_once() -> None:
    world = an_unknown_world()
    wait_until_due(world)

    results = [world.sweep() for _ in range(3)]

    assert results[1:] == [SweepResult.SKIPPED, SweepResult.SKIPPED]
    claimed = [event for event in world.events if event.kind is EventKind.SWEEP_CLAIMED]
    assert [event.actor for event in claimed] == [Actor(kind="reconciler", actor_id="sweeper")]
    assert world.payments.look_ups == 1


def test_two_sweepers_together_look_once() -> None:
    world = an_unknown_world()
    wait_until_due(world)

    def rival() -> None:
        world.sweep()

    world.store.rivals = [rival]

    assert world.sweep() is SweepResult.SKIPPED
    assert world.payments.look_ups == 1
    assert world.kinds.count(EventKind.SWEEP_CLAIMED) == 1


def test_an_unknown_effect_is_found_and_its_running_execution_goes_on() -> None:
    world = an_unknown_world()
    wait_until_due(world)

    assert world.sweep() is SweepResult.WAITING

    assert world.effect().state is EffectState.CONFIRMED
    assert world.executions.starts == [E1]
    assert len(world.payments.calls) == 1


def test_an_unknown_effect_is_found_and_its_dead_execution_is_replaced() -> None:
    world = an_unknown_world()
    world.executions.statuses[E1] = ExecutionStatus.ENDED
    wait_until_due(world)

    assert world.sweep() is SweepResult.REPLACED

    assert world.effect().state is EffectState.CONFIRMED
    assert world.executions.starts == [E1, E2]


def test_an_effect_that_stays_unknown_past_its_deadline_goes_to_review() -> None:
    world = an_unknown_world()
    world.payments.read_fault = NO_ANSWER
    world.pass_seconds(RECOVERY_DEADLINE_SECONDS)

    assert world.sweep() is SweepResult.REVIEW

    assert world.run().state is RunState.REVIEW
    assert world.effect().state is EffectState.UNKNOWN


def test_an_overdue_effect_found_later_gets_its_run_going_again() -> None:
    world = an_unknown_world()
    world.payments.read_fault = NO_ANSWER
    world.pass_seconds(RECOVERY_DEADLINE_SECONDS)
    world.sweep()
    world.executions.statuses[E1] = ExecutionStatus.ENDED
    world.payments.read_fault = None
    wait_until_due(world)

    assert world.sweep() is SweepResult.REPLACED

    assert world.run().state is RunState.ACTIVE
    assert world.executions.starts == [E1, E2]


def test_a_start_that_was_lost_is_made_up_for() -> None:
    world = a_world(execution_started=False)
    world.executions.statuses.clear()
    world.executions.starts.clear()

    assert world.sweep() is SweepResult.STARTED

    assert world.executions.starts == [E1]
    assert world.run().epoch == 1


def test_an_execution_that_ended_with_the_run_open_is_replaced() -> None:
    world = a_world()
    world.executions.statuses[E1] = ExecutionStatus.ENDED

    assert world.sweep() is SweepResult.REPLACED
    assert world.executions.starts == [E1, E2]


def test_an_execution_that_makes_no_progress_is_replaced_and_fenced() -> None:
    world = an_approved_world()
    wait_until_due(world)

    assert world.sweep() is SweepResult.REPLACED

    assert world.run().epoch == 2
    assert world.executions.starts == [E1, E2]


def test_an_execution_that_woke_and_then_stalled_is_replaced_not_woken_again() -> None:
    world = an_approved_world()
    world.doorbell.stale.clear()
    world.doorbell.rung.clear()
    wait_until_due(world)

    assert world.sweep() is SweepResult.REPLACED
    assert world.doorbell.rung == []


def test_an_execution_that_never_reported_in_is_replaced() -> None:
    world = a_world(execution_started=False)

    assert world.sweep() is SweepResult.REPLACED
    assert world.executions.starts == [E1, E2]


def test_a_run_in_review_is_only_looked_at() -> None:
    world = a_world()
    world.change(lambda draft: draft.send_to_review("a person asked"))
    wait_until_due(world)

    assert world.sweep() is SweepResult.REVIEW

    assert world.executions.starts == [E1]
    assert world.run().review_reason == "a person asked"


def test_executions_that_go_nowhere_end_in_review_and_the_sweep_says_so() -> None:
    world = an_approved_world()
    results = []
    for _ in range(2 * MAX_EXECUTIONS):
        wait_until_due(world)
        results.append(world.sweep())
        if results[-1] is SweepResult.REVIEW:
            break

    assert results.count(SweepResult.REPLACED) == MAX_EXECUTIONS - 1
    assert results[-1] is SweepResult.REVIEW
    assert world.run().state is RunState.REVIEW


def test_a_version_that_is_gone_ends_in_review_and_the_sweep_says_so() -> None:
    world = a_world(execution_started=False)
    world.executions.statuses.clear()
    world.executions.deployed = False

    assert world.sweep() is SweepResult.REVIEW
    assert world.run().state is RunState.REVIEW


def test_what_is_found_of_a_run_that_was_closed_during_the_look_is_shown_to_a_person() -> None:
    world = an_unknown_world()
    wait_until_due(world)

    def closed_meanwhile() -> None:
        world.payments.during_look_up = None
        given(world, state=RunState.CLOSED)

    world.payments.during_look_up = closed_meanwhile

    assert world.sweep() is SweepResult.REVIEW
    assert "refund is confirmed after the run had ended" in world.run().review_reason
    assert world.executions.starts == [E1]


def test_a_sweep_that_cannot_write_looks_at_nothing_and_leaves_the_run_due() -> None:
    world = an_unknown_world()
    wait_until_due(world)
    world.store.failure = LedgerUnavailable("no answer")

    with pytest.raises(LedgerUnavailable):
        world.sweep()

    assert world.payments.look_ups == 0
    world.store.failure = None
    assert world.sweep() is SweepResult.WAITING
