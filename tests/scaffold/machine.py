"""The state machine of a version, written from its definition.

Everything in it follows from the stages, so nobody has to copy a ``Retry`` or a ``Catch`` by hand.
What it has to be is said, and checked of every released one, in ``stacks/machine_check.py``.
"""

import json
from collections.abc import Mapping
from itertools import pairwise

from pydantic import JsonValue

from ledger.workflow import Stage, WorkflowDefinition
from stacks.machine_check import (
    AWAIT,
    CLOSED,
    FUNCTION_TIMEOUT_SECONDS,
    IN_REVIEW,
    INVOKE,
    INVOKE_AND_WAIT,
    LOST,
    OUTPUTS,
    POSITIONS,
    RECONCILED,
    WAIT_SECONDS,
    WAITING_PAYLOAD,
    WHERE,
    check_machine,
)
from stacks.machine_errors import DOUBTS, FENCED, INPUT, PAUSE, RECONCILE, RESUME, RETRIED, THE_REST

# Beyond the function's own limit, so that its own end comes first and by its own name.
STATE_MARGIN_SECONDS = 15
# Beyond the customer's time, so that the ledger lapses the request and not the state machine.
APPROVAL_MARGIN_SECONDS = 5 * 60
# Longer than anything waits: a provider may hold a write for two weeks, and then a person looks.
EXECUTION_SECONDS = 30 * 24 * 3600
# Long enough for an outage to end, short enough that nobody takes the run for dead.
PAUSE_SECONDS = 30

type State = dict[str, JsonValue]


def machine_for(definition: WorkflowDefinition) -> str:
    """Return the state machine of a version, as text. Raises ValueError when it cannot have one."""
    machine: State = {
        "Comment": f"{definition.version}. Every state asks the ledger; inputs and outputs carry "
        "ids only.",
        "QueryLanguage": "JSONata",
        "StartAt": RESUME,
        "TimeoutSeconds": EXECUTION_SECONDS,
        "States": _states(definition),
    }
    text = json.dumps(machine, indent=2) + "\n"
    check_machine(definition, text)
    return text


def _states(definition: WorkflowDefinition) -> State:
    waiting = next((found for found in definition.stages if found.rings_doorbell), None)
    asking = waiting.state_name if waiting else None
    after = {one.name: other.state_name for one, other in pairwise(definition.stages)}
    stages = {found.state_name: found.state_name for found in definition.stages}
    return {
        RESUME: _asking_state(RESUME, WHERE),
        WHERE: _choice({**stages, **POSITIONS}, LOST),
        **{
            stage.state_name: _stage_state(definition, stage, after.get(stage.name, RESUME), asking)
            for stage in definition.stages
        },
        PAUSE: {
            "Type": "Wait",
            "Comment": "An outage is waited out here, not counted against the run.",
            "Seconds": PAUSE_SECONDS,
            "Next": RECONCILE,
        },
        RECONCILE: _asking_state(RECONCILE, RECONCILED),
        RECONCILED: _choice({"Wait": AWAIT}, RESUME),
        AWAIT: {"Type": "Wait", "Seconds": WAIT_SECONDS, "Next": RECONCILE},
        CLOSED: {"Type": "Succeed", "Comment": "The ledger says how the run ended."},
        IN_REVIEW: {
            "Type": "Succeed",
            "Comment": "A person looks; a new execution continues the run.",
        },
        FENCED: {"Type": "Succeed", "Comment": "A newer execution owns the run."},
        LOST: {
            "Type": "Fail",
            "Error": LOST,
            "Cause": "The ledger names a state that this version does not have.",
        },
    }


def _asking_state(name: str, following: str) -> State:
    """Return the state that asks the ledger where the run stands, or looks up what is unsettled."""
    seconds = FUNCTION_TIMEOUT_SECONDS[name] + STATE_MARGIN_SECONDS
    return {
        **_call(name, INVOKE, INPUT),
        "Output": OUTPUTS[name],
        **_limits(seconds, [_catch(["StaleExecution"], FENCED)]),
        "Next": following,
    }


def _stage_state(
    definition: WorkflowDefinition, stage: Stage, following: str, asking: str | None
) -> State:
    if stage.rings_doorbell:
        seconds = definition.approval_lifetime_seconds + APPROVAL_MARGIN_SECONDS
        catch = [
            _catch(["StaleExecution"], FENCED),
            _catch(["ReviewRequired", "States.Timeout"], RESUME),
        ]
        return {
            **_call(stage.state_name, INVOKE_AND_WAIT, WAITING_PAYLOAD),
            "Output": INPUT,
            **_limits(max(seconds, stage.timeout_seconds + STATE_MARGIN_SECONDS), catch),
            "Next": RESUME,
        }
    asked = [_catch(["ApprovalNeeded"], asking)] if asking else []
    catch = [
        *asked,
        _catch(["ReviewRequired"], RESUME),
        _catch(["StaleExecution"], FENCED),
        _catch(sorted(DOUBTS), RECONCILE),
    ]
    return {
        **_call(stage.state_name, INVOKE, INPUT),
        "Output": INPUT,
        **_limits(stage.timeout_seconds + STATE_MARGIN_SECONDS, catch),
        "Next": following,
    }


def _call(name: str, resource: str, payload: JsonValue) -> State:
    arguments: State = {"FunctionName": f"${{{name}FunctionArn}}", "Payload": payload}
    return {"Type": "Task", "Resource": resource, "Arguments": arguments}


def _limits(seconds: int, catch: list[JsonValue]) -> State:
    retrier: State = {
        "ErrorEquals": list[JsonValue](sorted(RETRIED)),
        "IntervalSeconds": 1,
        "BackoffRate": 2,
        "MaxAttempts": 4,
        "MaxDelaySeconds": 15,
        "JitterStrategy": "FULL",
    }
    return {
        "TimeoutSeconds": seconds,
        "Retry": [retrier],
        "Catch": [*catch, _catch([THE_REST], PAUSE)],
    }


def _catch(errors: list[str], following: str) -> JsonValue:
    return {"ErrorEquals": list[JsonValue](errors), "Output": INPUT, "Next": following}


def _choice(ways: Mapping[str, str], default: str) -> State:
    choices: list[JsonValue] = [
        {"Condition": f"{{% $states.input.next = '{said}' %}}", "Next": way}
        for said, way in ways.items()
    ]
    return {"Type": "Choice", "Choices": choices, "Default": default}
