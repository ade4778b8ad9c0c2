"""The part of the States Language that the definitions use. Anything else in a file is an error,
so that no part of a definition is silently left out of a test.
"""

import json
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from jsonata import Jsonata

MACHINE_FIELDS = frozenset({"Comment", "QueryLanguage", "StartAt", "States", "TimeoutSeconds"})
COMMON_FIELDS = frozenset({"Type", "Comment"})
STATE_FIELDS: Mapping[str, frozenset[str]] = {
    "Task": frozenset(
        {"Resource", "Arguments", "Output", "TimeoutSeconds", "Retry", "Catch", "Next"}
    ),
    "Choice": frozenset({"Choices", "Default"}),
    "Wait": frozenset({"Seconds", "Next"}),
    "Succeed": frozenset(),
    "Fail": frozenset({"Error", "Cause"}),
}
CHOICE_FIELDS = frozenset({"Condition", "Next"})
CATCH_FIELDS = frozenset({"ErrorEquals", "Output", "Next"})
RETRY_FIELDS = frozenset(
    {
        "ErrorEquals",
        "IntervalSeconds",
        "BackoffRate",
        "MaxAttempts",
        "MaxDelaySeconds",
        "JitterStrategy",
    }
)
INVOKE = "arn:aws:states:::lambda:invoke"
INVOKE_AND_WAIT = "arn:aws:states:::lambda:invoke.waitForTaskToken"
RESOURCES = frozenset({INVOKE, INVOKE_AND_WAIT})
INVOKE_ARGUMENTS = frozenset({"FunctionName", "Payload"})
# Neither wildcard matches these (States Language, "States.ALL" and "States.TaskFailed").
NEVER_CAUGHT_BY_ALL = frozenset({"States.DataLimitExceeded", "States.Runtime"})
NOT_A_TASK_FAILURE = NEVER_CAUGHT_BY_ALL | {"States.Timeout"}

type State = Mapping[str, Any]


class DefinitionError(Exception):
    """The definition holds something that is not understood here, or leads nowhere."""


def read_definition(path: Path) -> Mapping[str, Any]:
    """Return the machine after checking that every field of it is understood."""
    machine: dict[str, Any] = json.loads(path.read_text())
    _check_fields("the machine", machine, MACHINE_FIELDS)
    if machine.get("QueryLanguage") != "JSONata":
        raise DefinitionError("Only JSONata is understood.")
    states: dict[str, State] = machine["States"]
    for name, state in states.items():
        _check_state(name, state)
        for target in _targets(state):
            if target not in states:
                raise DefinitionError(f"{name} leads to {target}, which does not exist.")
    if machine["StartAt"] not in states:
        raise DefinitionError("The machine starts nowhere.")
    return machine


def evaluate(template: Any, states: Mapping[str, Any]) -> Any:
    """Return ``template`` with each ``{% … %}`` replaced by its value.

    Raises DefinitionError for an expression without a value, as the service fails on one.
    """
    match template:
        case str() if template.startswith("{%") and template.endswith("%}"):
            value = _compiled(template[2:-2].strip()).evaluate(None, {"states": states})
            if value is None:
                raise DefinitionError(f"{template} has no value here.")
            return value
        case dict():
            return {name: evaluate(part, states) for name, part in template.items()}
        case list():
            return [evaluate(part, states) for part in template]
        case _:
            return template


def matches(error_equals: list[str], error: str) -> bool:
    """Return whether a retrier's or catcher's list names the error."""
    if error in error_equals:
        return True
    if "States.ALL" in error_equals:
        return error not in NEVER_CAUGHT_BY_ALL
    return "States.TaskFailed" in error_equals and error not in NOT_A_TASK_FAILURE


def _check_state(name: str, state: State) -> None:
    kind = str(state.get("Type"))
    if kind not in STATE_FIELDS:
        raise DefinitionError(f"{name} is a {kind}, which is not understood.")
    _check_fields(name, state, STATE_FIELDS[kind] | COMMON_FIELDS)
    for choice in state.get("Choices", []):
        _check_fields(f"a choice of {name}", choice, CHOICE_FIELDS)
    for catcher in state.get("Catch", []):
        _check_fields(f"a catcher of {name}", catcher, CATCH_FIELDS)
    for retrier in state.get("Retry", []):
        _check_fields(f"a retrier of {name}", retrier, RETRY_FIELDS)
    if kind == "Task":
        if state["Resource"] not in RESOURCES:
            raise DefinitionError(f"{name} calls {state['Resource']}, which is not understood.")
        _check_fields(f"the arguments of {name}", state["Arguments"], INVOKE_ARGUMENTS)


def _check_fields(where: str, found: Mapping[str, Any], known: frozenset[str]) -> None:
    unknown = set(found) - known
    if unknown:
        raise DefinitionError(f"{where} has {sorted(unknown)}, which is not understood.")


def _targets(state: State) -> Iterator[str]:
    if "Next" in state:
        yield state["Next"]
    if "Default" in state:
        yield state["Default"]
    for part in (*state.get("Choices", []), *state.get("Catch", [])):
        yield part["Next"]


@cache
def _compiled(expression: str) -> Jsonata:
    return Jsonata(expression)
