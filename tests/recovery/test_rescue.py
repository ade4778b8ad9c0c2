"""An execution is lost, for every cause there is: the run goes on, in time, as what it was.

Played of every registered version. What the next execution does is checked by ``check_outcome``.
"""

import pytest

from ledger.contract import LookUp
from ledger.due import START_DEADLINE_SECONDS
from ledger.event import Event, EventKind
from ledger.run import RunLedger
from ledger.transitions import EffectState, RunState
from providers.contracts import CONTRACTS
from tests.recovery.scenario import finish, is_awaiting
from tests.recovery.scenarios import Scenario, scenarios
from tests.recovery.state_machine import Status
from tests.recovery.tap import Strike
from tests.recovery.world import TICK_MS, World

BAD_ENDS = [Status.FAILED, Status.TIMED_OUT, Status.ABORTED]
each_version = pytest.mark.parametrize("scenario", scenarios().values(), ids=scenarios())
each_end = pytest.mark.parametrize("status", BAD_ENDS)
told_or_not = pytest.mark.parametrize("told", [True, False], ids=["told", "not told"])


def in_doubt(ledger: RunLedger) -> bool:
    """Return whether the outcome of a write is not known."""
    return any(effect.state is EffectState.UNKNOWN for effect in ledger.effects)


def a_world_in_doubt(scenario: Scenario) -> World:
    """Return a world whose first write has just lost its answer."""
    world = World(scenario=scenario)
    definition = scenario.definition
    stage = next(found for found in definition.stages if found.operation is not None)
    provider = definition.operation(stage.write).provider
    assert CONTRACTS[provider].look_up is not LookUp.NONE
    world.tap.strike_next(stage.state_name, f"{provider}.call", Strike.LOST_ANSWER)
    world.run_until(in_doubt)
    assert in_doubt(world.ledger)
    return world


def end_execution(world: World, status: Status, *, told: bool) -> None:
    """Let the run's execution end, and the notice of it arrive or get lost."""
    name = world.ledger.run.execution_name
    world.orchestrator.executions[name].end(status)
    if told:
        world.notices.tell(name, status)
    world.notices.arrive = False


def assigned(world: World) -> list[Event]:
    """Return each time that the run was given another execution."""
    return [event for event in world.events if event.kind is EventKind.EXECUTION_ASSIGNED]


def started_on(world: World, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """Return a list of every start from now on, as workflow version and name."""
    starts: list[tuple[str, str]] = []
    start = world.orchestrator.start

    def noting(workflow: str, name: str, run_id: str, epoch: int) -> object:
        starts.append((workflow, name))
        return start(workflow, name, run_id, epoch)

    monkeypatch.setattr(world.orchestrator, "start", noting)
    return starts


@each_version
@each_end
@told_or_not
def test_given_a_write_in_doubt_when_the_execution_ends_badly_then_another_is_there_in_time(
    scenario: Scenario, status: Status, told: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = a_world_in_doubt(scenario)
    (effect,) = [found for found in world.ledger.effects if found.state is EffectState.UNKNOWN]
    starts = started_on(world, monkeypatch)
    ended_at_ms = world.clock.now_ms()

    end_execution(world, status, told=told)
    finish(world)

    (replaced,) = assigned(world)
    assert replaced.at_ms - ended_at_ms < effect.recovery_deadline_seconds * 1000
    assert replaced.actor.actor_id == ("execution-status" if told else "sweeper")
    version = scenario.definition.version
    assert starts == [(version, f"{world.ledger.run.run_id}-e2")]
    assert {event.workflow for event in world.events} == {version}


@each_version
@each_end
@told_or_not
def test_given_a_run_that_waits_for_a_yes_when_its_execution_ends_then_the_wait_is_taken_up(
    scenario: Scenario, status: Status, told: bool
) -> None:
    world = World(scenario=scenario)
    world.run_until(is_awaiting)

    end_execution(world, status, told=told)
    finish(world)

    assert len(assigned(world)) == 1
    assert world.ledger.run.epoch == 2


@each_version
def test_given_an_execution_that_was_never_started_when_the_sweeper_comes_then_it_is_started(
    scenario: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(scenario=scenario)
    world.tap.strike_next("POST /runs", "executions.start", Strike.CRASH_BEFORE)
    world.customer.next_at_ms = None  # and the client never comes back
    opened_at_ms = world.clock.now_ms()
    world.customer.ask()
    starts = started_on(world, monkeypatch)

    world.run_until(is_awaiting)

    run = world.ledger.run
    assert starts == [(scenario.definition.version, f"{run.run_id}-e1")]
    late_ms = world.clock.now_ms() - opened_at_ms
    assert late_ms < START_DEADLINE_SECONDS * 1000 + 2 * TICK_MS
    assert run.epoch == 1


@each_version
def test_given_a_replacement_that_was_never_started_when_a_tick_comes_then_it_is_counted_once(
    scenario: Scenario,
) -> None:
    """It was counted before the work, so the worker that died in between costs no second one."""
    world = a_world_in_doubt(scenario)
    world.tap.strike_next("worker", "executions.start", Strike.CRASH_BEFORE)

    end_execution(world, Status.ABORTED, told=False)
    finish(world)

    assert [call.process for call in world.tap.struck][-1] == "worker"
    assert len(assigned(world)) == 1
    assert world.ledger.run.epoch == 2


@each_version
def test_given_a_token_that_was_lost_when_the_person_says_yes_then_it_is_carried_out_in_time(
    scenario: Scenario,
) -> None:
    world = World(scenario=scenario)
    world.orchestrator.deaf = True

    finish(world)

    granted = next(event for event in world.events if event.kind is EventKind.APPROVAL_GRANTED)
    (replaced,) = assigned(world)
    late_ms = replaced.at_ms - granted.at_ms
    assert late_ms < START_DEADLINE_SECONDS * 1000 + 2 * TICK_MS


@each_version
@told_or_not
def test_given_executions_that_all_end_badly_when_they_are_used_up_then_a_person_has_the_run(
    scenario: Scenario, told: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(scenario=scenario)
    start = world.orchestrator.start

    def ends_at_once(workflow: str, name: str, run_id: str, epoch: int) -> object:
        outcome = start(workflow, name, run_id, epoch)
        world.orchestrator.kill(name, tell=told)
        return outcome

    monkeypatch.setattr(world.orchestrator, "start", ends_at_once)
    world.run()

    run = world.ledger.run
    assert len(world.orchestrator.executions) == run.max_executions
    assert run.state is RunState.REVIEW
    assert f"{run.max_executions} executions ended" in run.review_reason
    assert [event.kind for event in world.events].count(EventKind.REVIEW_REQUIRED) == 1
