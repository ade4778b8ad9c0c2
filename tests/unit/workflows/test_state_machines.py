"""Every released state machine keeps to the frame, so that a stage can rely on what follows."""

import json
from pathlib import Path
from typing import Any

import pytest

from ledger.workflow import Stage, WorkflowDefinition
from workflows.registry import REGISTRY

ROOT = Path(__file__).parents[3]
INPUT = "{% $states.context.Execution.Input %}"
WAITING = ".waitForTaskToken"
STAGES = [
    pytest.param(definition, stage, id=f"{version}: {stage.name}")
    for version, definition in REGISTRY.items()
    for stage in definition.stages
]


def states_of(definition: WorkflowDefinition) -> dict[str, Any]:
    asl = json.loads((ROOT / definition.asl_path).read_text(encoding="utf-8"))
    states: dict[str, Any] = asl["States"]
    return states


def target_of(state: dict[str, Any], error: str) -> str | None:
    """Return where an error leads: the first catcher that names it, or the one for the rest."""
    for catcher in state["Catch"]:
        if error in catcher["ErrorEquals"] or "States.ALL" in catcher["ErrorEquals"]:
            return str(catcher["Next"])
    return None


@pytest.mark.parametrize("definition", REGISTRY.values(), ids=REGISTRY.keys())
def test_the_ledger_decides_where_an_execution_goes(definition: WorkflowDefinition) -> None:
    asl = json.loads((ROOT / definition.asl_path).read_text(encoding="utf-8"))
    choices = asl["States"]["WhereItStands"]["Choices"]

    assert asl["StartAt"] == "Resume"
    assert asl["States"]["Resume"]["Next"] == "WhereItStands"
    for stage in definition.stages:
        wanted = f"{{% $states.input.next = '{stage.state_name}' %}}"
        assert [found["Next"] for found in choices if found["Condition"] == wanted] == [
            stage.state_name
        ]


@pytest.mark.parametrize(("definition", "stage"), STAGES)
def test_a_stage_passes_ids_only(definition: WorkflowDefinition, stage: Stage) -> None:
    state = states_of(definition)[stage.state_name]
    payload = state["Arguments"]["Payload"]

    if state["Resource"].endswith(WAITING):
        assert set(payload) == {"run_id", "epoch", "task_token"}
    else:
        assert payload == INPUT
    assert state["Output"] == INPUT
    assert {catcher["Output"] for catcher in state["Catch"]} == {INPUT}


@pytest.mark.parametrize(("definition", "stage"), STAGES)
def test_doubt_leads_to_reconcile_and_never_to_another_stage(
    definition: WorkflowDefinition, stage: Stage
) -> None:
    state = states_of(definition)[stage.state_name]
    stages = {found.state_name for found in definition.stages}

    assert target_of(state, "StaleExecution") == "Fenced"
    assert target_of(state, "ReviewRequired") == "Resume"
    assert target_of(state, "anything that nobody named") == "Pause"
    if stage.operation is not None:
        for doubt in ("EffectUnknown", "EffectPending", "Runtime.ExitError", "States.Timeout"):
            assert target_of(state, doubt) == "Reconcile"
        assert target_of(state, "ApprovalNeeded") in stages
    others = {
        catcher["Next"]
        for catcher in state["Catch"]
        if catcher["ErrorEquals"] != ["ApprovalNeeded"]
    }
    assert not others & stages


@pytest.mark.parametrize(("definition", "stage"), STAGES)
def test_only_what_began_nothing_is_retried(definition: WorkflowDefinition, stage: Stage) -> None:
    state = states_of(definition)[stage.state_name]
    retried = {error for retry in state["Retry"] for error in retry["ErrorEquals"]}

    assert retried <= {
        "EffectInProgress",
        "Lambda.TooManyRequestsException",
        "LedgerMoved",
        "LedgerUnavailable",
        "ProviderUnavailable",
        "TooLittleTime",
    }


@pytest.mark.parametrize(("definition", "stage"), STAGES)
def test_a_state_waits_longer_than_its_function_may_run(
    definition: WorkflowDefinition, stage: Stage
) -> None:
    state = states_of(definition)[stage.state_name]
    waits_for_a_person = state["Resource"].endswith(WAITING)
    least = definition.approval_lifetime_seconds if waits_for_a_person else stage.timeout_seconds

    assert state["TimeoutSeconds"] > least


@pytest.mark.parametrize("definition", REGISTRY.values(), ids=REGISTRY.keys())
@pytest.mark.parametrize("name", ["Resume", "Reconcile"])
def test_asking_the_ledger_again_is_never_the_end_of_an_execution(
    definition: WorkflowDefinition, name: str
) -> None:
    state = states_of(definition)[name]

    assert target_of(state, "StaleExecution") == "Fenced"
    assert target_of(state, "anything that nobody named") == "Pause"
    assert "StaleExecution" not in str(state["Retry"])
