"""Whatever fails at whichever call of a port: the run ends right, and nothing happens twice.

This is played of every registered workflow version. The calls are those of one undisturbed run,
recorded when this file is loaded. None is listed, so a call that is written tomorrow is covered
tomorrow, and so is a version.
"""

from collections.abc import Callable, Iterator, Sequence

import pytest

from ledger.event import EventKind
from ledger.transitions import RunState
from tests.recovery.conftest import COUNTED, RUNS
from tests.recovery.invariants import check_invariants, check_outcome
from tests.recovery.recording import recorded_calls
from tests.recovery.scenarios import Scenario, scenarios
from tests.recovery.tap import CRASHES, MANY_TURNS, STALLS, Call, Fault, Strike
from tests.recovery.world import Aftermath, World

# The names under which the service reports a process that is gone or gave no answer. Each is
# named in the definition; by turns, so that all of them meet many kinds of calls.
DEATHS = ("Runtime.ExitError", "Sandbox.Timedout", "Lambda.Unknown", "States.Timeout")
# A frozen process goes on after so many turns of the others, and once after all of them.
LAST_TURN = 21
TURN_STRIDE = 3
REPLACED_STRIDE = 5
# Second faults are taken at every so many calls, offset by the first, which covers each distance
# from it somewhere and keeps the whole within a minute on one core.
SECOND_STRIDE = 11
# An older version takes no new runs. Each call of it meets every strike, and fewer of the moments
# at which a process goes on or a second fault comes.
OLDER_TIMES = 3
STRIKES = tuple(Strike)
SUDDEN = tuple(strike for strike in Strike if strike not in STALLS)

RESCUER = {Aftermath.EXECUTION_DIES: "execution-status", Aftermath.NOTICE_LOST: "sweeper"}

type Record = Callable[[str, object], None]


class Points:
    """The calls of every version's undisturbed run, as cases of a test."""

    def __init__(self, wanted: Callable[[Scenario, Call], bool]) -> None:
        """Take those calls that ``wanted`` accepts."""
        self.each = pytest.mark.parametrize(
            ("scenario", "call"),
            [
                pytest.param(scenario, call, id=f"{version} {call}")
                for version, scenario in scenarios().items()
                for call in recorded_calls(scenario)
                if wanted(scenario, call)
            ],
        )


def _is_in_a_function(scenario: Scenario, call: Call) -> bool:
    """Return whether a state machine waits for the process that makes the call."""
    stages = {stage.state_name for stage in scenario.definition.stages}
    return call.process in stages | {"Resume", "Reconcile"}


def _is_in_a_payment(scenario: Scenario, call: Call) -> bool:
    """Return whether the call is made by a stage that moves money."""
    definition = scenario.definition
    return call.process in {
        stage.state_name
        for stage in definition.stages
        if stage.operation is not None and definition.operation(stage.operation).moves_money
    }


every_call = Points(lambda _scenario, _call: True).each
every_stage_call = Points(_is_in_a_function).each
every_payment_call = Points(_is_in_a_payment).each


def _ends_right(world: World, told: str) -> None:
    try:
        world.run()
        check_invariants(world)
        check_outcome(world)
    except BaseException as error:
        struck = "; ".join(str(call) for call in world.tap.struck)
        error.add_note(f"faults: {told}; struck: {struck}")
        raise


def _death(call: Call) -> str:
    return DEATHS[call.index % len(DEATHS)]


def _possible(call: Call, strikes: Sequence[Strike]) -> Iterator[Strike]:
    return (strike for strike in strikes if call.can_meet(strike))


def _stride(scenario: Scenario, stride: int) -> int:
    return stride if scenario.is_current else stride * OLDER_TIMES


@pytest.mark.parametrize("version", scenarios())
def test_an_undisturbed_run_reaches_every_stage_and_completes(version: str) -> None:
    """Without this the tests below could cover nothing and pass."""
    scenario = scenarios()[version]
    world = World(scenario=scenario)
    world.run()
    check_invariants(world)
    assert world.ledger.run.workflow == version
    assert world.ledger.run.state is RunState.COMPLETED
    stages = {stage.state_name for stage in scenario.definition.stages}
    assert {call.process for call in recorded_calls(scenario)} >= stages
    assert {call.port for call in recorded_calls(scenario)} >= scenario.ports


@every_call
def test_one_crash_or_lost_answer(scenario: Scenario, call: Call, record_property: Record) -> None:
    points = 0
    for strike in _possible(call, SUDDEN):
        world = World([Fault(call.index, strike)], death=_death(call), scenario=scenario)
        _ends_right(world, strike)
        assert [str(found) for found in world.tap.struck] == [str(call)]
        points += 1
    record_property(COUNTED, points)
    record_property(RUNS, points)


@every_stage_call
@pytest.mark.parametrize("aftermath", RESCUER)
def test_one_crash_that_takes_the_execution_with_it(
    scenario: Scenario, call: Call, aftermath: Aftermath, record_property: Record
) -> None:
    for strike in sorted(CRASHES):
        world = World([Fault(call.index, strike)], aftermath, scenario=scenario)
        _ends_right(world, strike)
        # Unless it was over already, help came from outside: by the notice or the sweeper alone.
        if world.events[-1].epoch == 1 and world.events[-1].kind is EventKind.RUN_COMPLETED:
            continue
        (replaced,) = [e for e in world.events if e.kind is EventKind.EXECUTION_ASSIGNED]
        assert replaced.actor.actor_id == RESCUER[aftermath]
    record_property(COUNTED, len(CRASHES))
    record_property(RUNS, len(CRASHES))


@every_payment_call
def test_one_fault_in_the_refund_when_stripe_has_forgotten_the_keys(
    scenario: Scenario, call: Call, record_property: Record
) -> None:
    """A key that protects nothing: only reading first keeps the refund single."""
    points = 0
    for strike in _possible(call, SUDDEN):
        world = World([Fault(call.index, strike)], keys_honoured=False, scenario=scenario)
        _ends_right(world, strike)
        points += 1
    record_property(COUNTED, points)
    record_property(RUNS, points)


@every_call
def test_a_process_that_freezes_is_given_up_and_goes_on_later(
    scenario: Scenario, call: Call, record_property: Record
) -> None:
    """It meets a world that has moved on: by a few steps, or all the way."""
    runs = 0
    stride = _stride(scenario, TURN_STRIDE)
    first_turn = 1 + call.index % stride
    for strike in sorted(STALLS):
        for turns in (*range(first_turn, LAST_TURN, stride), MANY_TURNS):
            world = World([Fault(call.index, strike, turns)], scenario=scenario)
            _ends_right(world, f"{strike} for {turns} turns")
            runs += 1
    record_property(COUNTED, len(STALLS))
    record_property(RUNS, runs)


@every_stage_call
def test_a_worker_that_freezes_comes_back_to_a_run_that_was_given_to_another_execution(
    scenario: Scenario, call: Call, record_property: Record
) -> None:
    runs = 0
    stride = _stride(scenario, REPLACED_STRIDE)
    first_turn = 1 + call.index % stride
    for strike in sorted(STALLS):
        for turns in (*range(first_turn, LAST_TURN, stride), MANY_TURNS):
            fault = Fault(call.index, strike, turns)
            world = World([fault], Aftermath.EXECUTION_DIES, scenario=scenario)
            _ends_right(world, f"{strike} for {turns} turns, {world.aftermath}")
            runs += 1
    record_property(COUNTED, len(STALLS))
    record_property(RUNS, runs)


@every_call
def test_a_second_fault_during_the_recovery(
    scenario: Scenario, call: Call, record_property: Record
) -> None:
    runs = 0
    stride = _stride(scenario, SECOND_STRIDE)
    for number, strike in enumerate(_possible(call, SUDDEN)):
        first = Fault(call.index, strike)
        aftermath = tuple(Aftermath)[(call.index + number) % len(Aftermath)]
        scout = World([first], aftermath, _death(call), scenario=scenario)
        scout.run()
        offset = 1 + (call.index + number) % stride
        for at in range(call.index + offset, len(scout.tap.calls), stride):
            second = Fault(at, STRIKES[(at + number) % len(STRIKES)])
            if scout.tap.calls[at].can_meet(second.strike):
                world = World([first, second], aftermath, _death(call), scenario=scenario)
                _ends_right(world, f"{strike}, then {second.strike} at {at}, {aftermath}")
                runs += 1
    record_property(RUNS, runs)
