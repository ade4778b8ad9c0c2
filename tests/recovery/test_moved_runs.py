"""A deploy takes away the version of a run that is under way: it goes on by the migration."""

from collections import Counter

import pytest

from ledger.event import EventKind
from ledger.offer import RecoveryAction
from ledger.resume import next_state
from ledger.transitions import RunState
from tests.recovery.desk import choose
from tests.recovery.functions import machine
from tests.recovery.invariants import check_invariants
from tests.recovery.scenario import finish, is_awaiting, posts
from tests.recovery.scenarios import scenarios
from tests.recovery.state_machine import Status
from tests.recovery.tap import Fault, Strike
from tests.recovery.world import Aftermath, World

OLDER, NEWER = (scenarios()[f"cancel-refund@{number}"].definition for number in (3, 4))


# An undisturbed run takes fewer turns than this, so each is cut off once at each of them.
TURNS = 40


def older_run(turns: int | None = None) -> World:
    """Return a world in which a run was asked for on the older version, after so many turns."""
    world = World(scenario=scenarios()[OLDER.version])
    if turns is None:
        world.run_until(is_awaiting)
    else:
        world.run(turns=turns)
    return world


def only_the_newer_is_deployed(world: World) -> None:
    """Take the older version's machine away, with its executions."""
    world.orchestrator.machines = {NEWER.version: machine(NEWER.asl_path)}
    for execution in world.orchestrator.running():
        execution.end(Status.ABORTED)


def assert_moved_and_done_once(world: World) -> None:
    """Fail unless the run went over by an event of its own and completed with one refund."""
    check_invariants(world)
    run = world.ledger.run
    kinds = [event.kind for event in world.events]
    assert (run.state, run.workflow) == (RunState.COMPLETED, NEWER.version)
    assert kinds.count(EventKind.RUN_MIGRATED) == 1
    assert EventKind.REVIEW_REQUIRED not in kinds
    assert len(world.ledger.approvals) == 1
    assert len(world.stripe.world.refunds) == 1
    assert len({key for key, _ in posts(world)}) == 1
    assert len(world.ledger.effects) == len(NEWER.operations)


def test_a_run_that_loses_its_version_at_any_turn_goes_on_as_the_newer_one() -> None:
    stood: Counter[str] = Counter()
    for turns in range(1, TURNS):
        # Given a run of the older version anywhere on its way, when that is deployed no more.
        world = older_run(turns)
        if not world.runs() or not world.ledger.run.is_open:
            continue
        stood[next_state(OLDER, world.ledger)] += 1
        only_the_newer_is_deployed(world)

        # When everybody goes on.
        world.run()

        # Then it was moved by an event of its own and completed, with one yes and one refund.
        assert_moved_and_done_once(world)
    assert {found.state_name for found in OLDER.stages} <= set(stood)


@pytest.mark.parametrize("strike", [Strike.CRASH_BEFORE, Strike.CRASH_AFTER])
@pytest.mark.parametrize(
    ("stage", "provider"),
    [("IssueRefund", "stripe_refunds"), ("CancelRenewal", "stripe_billing")],
)
def test_a_write_in_doubt_is_looked_up_before_its_run_goes_over(
    stage: str, provider: str, strike: Strike
) -> None:
    # Given a write whose worker dies at the call, and a version that is gone right after.
    world = World(scenario=scenarios()[OLDER.version], aftermath=Aftermath.NOTICE_LOST)
    world.tap.strike_next(stage, f"{provider}.call", strike)
    world.run_until(lambda ledger: bool(ledger.unsettled_effects()))
    assert world.ledger.unsettled_effects()
    only_the_newer_is_deployed(world)

    # When everybody goes on.
    world.run()

    # Then its outcome was found out first, and it was not made twice.
    assert_moved_and_done_once(world)
    kinds = [event.kind for event in world.events]
    assert EventKind.EFFECT_UNKNOWN in kinds[: kinds.index(EventKind.RUN_MIGRATED)]


def test_after_a_move_the_work_that_is_left_is_done_in_the_newer_order() -> None:
    world = older_run()
    only_the_newer_is_deployed(world)

    world.run()

    operations = {found.effect_id: found.operation for found in world.ledger.effects}
    done = [e.subject for e in world.events if e.kind is EventKind.EFFECT_CONFIRMED]
    assert [operations[found] for found in done] == ["cancel_renewal", "refund", "receipt"]


def test_an_operator_moves_a_run_whose_own_version_is_still_there() -> None:
    # Given a run of the older version in review, with both versions deployed.
    world = older_run()
    world.clock.move_to(world.ledger.approvals[0].expires_at_ms)
    world.run()
    assert world.ledger.run.review_reason

    # When an operator moves it, and the customer says yes this time.
    choose(world, RecoveryAction.MOVE)
    world.customer.decides_after_ms = 0
    world.run()

    # Then it was asked for anew and done once, as the newer version does it.
    check_invariants(world)
    assert world.ledger.run.state is RunState.COMPLETED
    assert world.ledger.run.workflow == NEWER.version
    assert len(world.ledger.approvals) == 2
    assert len(world.stripe.world.refunds) == 1


def test_with_both_deployed_a_run_is_never_moved_by_itself() -> None:
    world = older_run()
    for execution in world.orchestrator.running():
        execution.end(Status.ABORTED)

    finish(world)

    assert world.ledger.run.state is RunState.COMPLETED
    assert {event.workflow for event in world.events} == {OLDER.version}


def goes_over(*faults: Fault) -> World:
    """Return a run of the older version that waits for its yes, and then loses its version."""
    world = World(faults, Aftermath.NOTICE_LOST, scenario=scenarios()[OLDER.version])
    world.run_until(is_awaiting)
    only_the_newer_is_deployed(world)
    world.run()
    return world


def calls_of_the_move() -> list[int]:
    """Return the numbers of the calls by which an undisturbed run is looked after and goes over."""
    return [
        number
        for number, call in enumerate(goes_over().tap.calls)
        if call.process in ("sweeper", "worker")
    ]


@pytest.mark.parametrize("strike", list(Strike))
def test_whatever_fails_while_a_run_goes_over_it_is_moved_once_and_done_once(
    strike: Strike,
) -> None:
    calls = calls_of_the_move()
    assert len(calls) > 5
    for number in calls:
        # Given any call of the process that moves the run, and a fault at it.
        world = goes_over(Fault(number, strike))

        # Then it was moved by one event all the same, and nothing was done twice.
        assert world.tap.struck, number
        assert_moved_and_done_once(world)
