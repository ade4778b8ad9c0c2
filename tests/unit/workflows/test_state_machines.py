"""Every released state machine keeps to the frame, and one that leaves it is refused, with reasons.

A stage relies on what follows it: that doubt leads to a look, and success to the next checkpoint.
"""

import json
import re
from typing import Any

import pytest

from ledger.workflow import WorkflowDefinition
from stacks.machine_check import check_machine, wrong_in
from tests.unit.workflows.machines import (
    INVOKE,
    Machine,
    Path_,
    Spoil,
    asl_of,
    holder,
    places,
    replaced,
    spoilt,
    waiting,
    without,
    writes,
)
from workflows.registry import REGISTRY

# Words for people, which no machine reads.
WORDS = frozenset({"Comment", "Cause"})

every_version = pytest.mark.parametrize("definition", REGISTRY.values(), ids=REGISTRY.keys())


@every_version
def test_a_released_machine_is_right(definition: WorkflowDefinition) -> None:
    check_machine(definition, asl_of(definition))


@every_version
def test_whatever_is_taken_from_a_machine_is_missed(definition: WorkflowDefinition) -> None:
    machine: Machine = json.loads(asl_of(definition))
    paths = [path for path in places(machine) if path[-1] not in WORDS]

    accepted = [
        path for path in paths if not wrong_in(definition, json.dumps(without(machine, path)))
    ]

    assert len(paths) > 60 * len(definition.stages)
    assert accepted == []


@every_version
def test_whatever_else_a_machine_says_is_noticed(definition: WorkflowDefinition) -> None:
    machine: Machine = json.loads(asl_of(definition))
    changes: list[tuple[Path_, Any]] = []
    for path in places(machine):
        match holder(machine, path)[path[-1]]:
            case str() as text if path[-1] not in WORDS:
                changes += [(path, f"{text}x"), (path, ""), (path, 1)]
            case int():
                changes += [(path, 0), (path, -1), (path, "1"), (path, 10**9)]
            case list() as parts:
                changes += [(path, []), (path, [*parts, parts[0]])]
            case dict() as parts:
                changes += [(path, {}), (path, {**parts, "Surprise": 1})]

    accepted = [
        (path, value)
        for path, value in changes
        if not wrong_in(definition, json.dumps(replaced(machine, path, value)))
    ]

    assert len(changes) > 200 * len(definition.stages)
    assert accepted == []


@every_version
def test_two_functions_that_are_swapped_are_noticed(definition: WorkflowDefinition) -> None:
    names = ["Resume", "Reconcile", *(stage.state_name for stage in definition.stages)]
    for one in names:
        for other in names:
            if one >= other:
                continue

            def swap(
                _: WorkflowDefinition, machine: Machine, one: str = one, other: str = other
            ) -> None:
                arguments = [machine["States"][name]["Arguments"] for name in (one, other)]
                functions = [found["FunctionName"] for found in arguments]
                arguments[0]["FunctionName"], arguments[1]["FunctionName"] = reversed(functions)

            wrong = wrong_in(definition, spoilt(definition, swap))

            assert (
                f"{one} calls ${{{other}FunctionArn}}, which is another state's function" in wrong
            )
            assert len(wrong) == 2


@every_version
def test_an_error_that_is_not_caught_by_name_is_named(definition: WorkflowDefinition) -> None:
    machine: Machine = json.loads(asl_of(definition))
    for name, state in machine["States"].items():
        for number, catcher in enumerate(state.get("Catch", [])):
            for error in catcher["ErrorEquals"]:
                left = [found for found in catcher["ErrorEquals"] if found != error]
                path = ("States", name, "Catch", number)
                changed = (
                    replaced(machine, (*path, "ErrorEquals"), left)
                    if left
                    else without(machine, path)
                )

                wrong = wrong_in(definition, json.dumps(changed))

                assert f"{name} does not catch {error}" in wrong


@every_version
def test_an_error_that_leads_to_another_place_is_named(definition: WorkflowDefinition) -> None:
    """Of all states, the one that no error may lead to is a stage that writes."""
    machine: Machine = json.loads(asl_of(definition))
    target = writes(definition)[0].state_name
    for name, state in machine["States"].items():
        for number, catcher in enumerate(state.get("Catch", [])):
            path = ("States", name, "Catch", number, "Next")

            wrong = wrong_in(definition, json.dumps(replaced(machine, path, target)))

            assert len(wrong) == len(catcher["ErrorEquals"])
            assert all(f"to {target}, not to" in reason for reason in wrong)


def in_another_order(definition: WorkflowDefinition, machine: Machine) -> None:
    """Let the last two writes take each other's place."""
    *_, one, other = (stage.state_name for stage in definition.stages)
    states = machine["States"]
    for found in states.values():
        if found.get("Next") == one:
            found["Next"] = other
    states[other]["Next"], states[one]["Next"] = one, "Resume"


def skips_a_stage(definition: WorkflowDefinition, machine: Machine) -> None:
    """Let the first stage go straight to the third."""
    first, _, third = (stage.state_name for stage in definition.stages[:3])
    machine["States"][first]["Next"] = third


def goes_on_unasked(definition: WorkflowDefinition, machine: Machine) -> None:
    """Let the approval's stage go on to a write, whatever the answer was."""
    machine["States"][waiting(definition).state_name]["Next"] = writes(definition)[0].state_name


def waits_for_no_token(definition: WorkflowDefinition, machine: Machine) -> None:
    """Let the approval's stage end with its function."""
    machine["States"][waiting(definition).state_name]["Resource"] = INVOKE


def hands_on_no_token(definition: WorkflowDefinition, machine: Machine) -> None:
    """Let the approval's function know nothing to ring with."""
    del machine["States"][waiting(definition).state_name]["Arguments"]["Payload"]["task_token"]


def waits_without_need(definition: WorkflowDefinition, machine: Machine) -> None:
    """Let a write wait for a token that nobody has."""
    state = machine["States"][writes(definition)[0].state_name]
    state["Resource"] += ".waitForTaskToken"


def retries_nothing(definition: WorkflowDefinition, machine: Machine) -> None:
    """Let a write be tried once."""
    machine["States"][writes(definition)[0].state_name]["Retry"] = []


def retries_a_doubt(definition: WorkflowDefinition, machine: Machine) -> None:
    """Let a write whose answer was lost be made again."""
    retry = machine["States"][writes(definition)[0].state_name]["Retry"]
    retry[0]["ErrorEquals"].append("EffectUnknown")


def retries_for_ever(definition: WorkflowDefinition, machine: Machine) -> None:
    """Leave the bound to the service's own."""
    del machine["States"][writes(definition)[0].state_name]["Retry"][0]["MaxAttempts"]


def leads_nowhere(definition: WorkflowDefinition, machine: Machine) -> None:
    """Go on to a state that was renamed."""
    machine["States"][writes(definition)[0].state_name]["Next"] = "Renamed"


def catches_all_first(definition: WorkflowDefinition, machine: Machine) -> None:
    """Hide every named error behind the one for the rest."""
    catch = machine["States"][writes(definition)[0].state_name]["Catch"]
    catch.insert(0, catch.pop())


def catches_a_stranger(definition: WorkflowDefinition, machine: Machine) -> None:
    """Name an error that nobody raises."""
    catch = machine["States"][writes(definition)[0].state_name]["Catch"]
    catch[0]["ErrorEquals"].append("EffectUnknwon")


def hands_on_more(definition: WorkflowDefinition, machine: Machine) -> None:
    """Carry an answer from one state to the next."""
    machine["States"][writes(definition)[0].state_name]["Output"] = "{% $states.result %}"


def gives_up_early(definition: WorkflowDefinition, machine: Machine) -> None:
    """Take a function for dead that may still run."""
    stage = writes(definition)[0]
    machine["States"][stage.state_name]["TimeoutSeconds"] = stage.timeout_seconds


def asks_too_shortly(definition: WorkflowDefinition, machine: Machine) -> None:
    """Stop waiting before the request has lapsed."""
    state = machine["States"][waiting(definition).state_name]
    state["TimeoutSeconds"] = definition.approval_lifetime_seconds


def ends_early(definition: WorkflowDefinition, machine: Machine) -> None:
    """End the execution before its customer has to decide."""
    machine["TimeoutSeconds"] = definition.approval_lifetime_seconds


def has_a_side_door(definition: WorkflowDefinition, machine: Machine) -> None:
    """Add a write that the definition does not know."""
    stage = writes(definition)[0].state_name
    machine["States"]["Again"] = machine["States"][stage]


def knows_another_position(definition: WorkflowDefinition, machine: Machine) -> None:
    """Send an execution to a write on another word."""
    stage = writes(definition)[0].state_name
    condition = "{% $states.input.next = 'Hurry' %}"
    machine["States"]["WhereItStands"]["Choices"].append({"Condition": condition, "Next": stage})


SPOILS: dict[Spoil, str] = {
    in_another_order: r"goes on to \w+, not to \w+",
    skips_a_stage: r"goes on to \w+, not to \w+",
    goes_on_unasked: r"goes on to \w+, not to Resume",
    waits_for_no_token: r"calls by \S+invoke, not by \S+waitForTaskToken",
    hands_on_no_token: r"hands on other data than the ids",
    waits_without_need: r"calls by \S+waitForTaskToken, not by \S+invoke",
    retries_nothing: r"Retry: .* at least 1 item",
    retries_a_doubt: r"retries EffectUnknown, after which something may have begun",
    retries_for_ever: r"MaxAttempts: Field required",
    leads_nowhere: r"goes on to Renamed, not to \w+",
    catches_all_first: r"catches States.ALL beside or before others",
    catches_a_stranger: r"catches EffectUnknwon, which nobody raises",
    hands_on_more: r"passes on other data than the next state reads",
    gives_up_early: r"is given up after (\d+) s, and needs \1",
    asks_too_shortly: r"is given up after (\d+) s, and needs \1",
    ends_early: r"an execution is ended after \d+ s; its states need \d+",
    has_a_side_door: r"Again is no state of",
    knows_another_position: r"WhereItStands has other ways than",
}


@every_version
@pytest.mark.parametrize(
    ("spoil", "reason"), SPOILS.items(), ids=[spoil.__name__ for spoil in SPOILS]
)
def test_a_spoilt_machine_is_refused_with_its_reason(
    definition: WorkflowDefinition, spoil: Spoil, reason: str
) -> None:
    with pytest.raises(ValueError, match=re.escape(definition.version)) as refused:
        check_machine(definition, spoilt(definition, spoil))

    assert re.search(reason, str(refused.value))


@every_version
def test_the_machine_of_another_order_of_checkpoints_is_refused(
    definition: WorkflowDefinition,
) -> None:
    """As when a definition is edited and its machine is not."""
    *before, one, other = definition.stages
    turned = definition.model_copy(update={"stages": (*before, other, one)})

    assert any("goes on to" in reason for reason in wrong_in(turned, asl_of(definition)))


@every_version
def test_a_stage_without_its_state_is_named(definition: WorkflowDefinition) -> None:
    forgotten = definition.stages[0].model_copy(update={"name": "forgotten_stage"})
    longer = definition.model_copy(update={"stages": (*definition.stages, forgotten)})

    assert "there is no state ForgottenStage" in wrong_in(longer, asl_of(definition))


@every_version
def test_a_version_whose_approval_nobody_waits_for_is_refused(
    definition: WorkflowDefinition,
) -> None:
    deaf = [stage.model_copy(update={"rings_doorbell": False}) for stage in definition.stages]

    wrong = wrong_in(definition.model_copy(update={"stages": tuple(deaf)}), asl_of(definition))

    assert f"{definition.version} needs an approval, and no stage of it waits for one" in wrong


@every_version
def test_a_state_that_is_written_twice_is_named(definition: WorkflowDefinition) -> None:
    asl = asl_of(definition).replace('"Reconciled": {', '"Resume": {', 1)

    assert any("appears twice" in reason for reason in wrong_in(definition, asl))


def test_what_is_no_definition_at_all_is_refused() -> None:
    definition = next(iter(REGISTRY.values()))

    for text in ("", "[]", "{}", '{"States": []}'):
        assert wrong_in(definition, text)
