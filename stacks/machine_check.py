"""Whether a state machine fits its version and keeps to the frame on which every stage relies.

The synth refuses one that does not. Nothing of this runs in a function.
"""

from collections.abc import Iterator, Mapping
from itertools import pairwise

from pydantic import JsonValue

from ledger.workflow import Stage, WorkflowDefinition
from stacks.machine import (
    ChoiceState,
    FailState,
    Machine,
    SucceedState,
    TaskState,
    WaitState,
    read_machine,
)
from stacks.machine_errors import (
    DOUBTS,
    FENCED,
    INPUT,
    PAUSE,
    RECONCILE,
    RESUME,
    wrong_catches,
    wrong_retries,
)

INVOKE = "arn:aws:states:::lambda:invoke"
INVOKE_AND_WAIT = f"{INVOKE}.waitForTaskToken"
WAITING_PAYLOAD: JsonValue = {
    "run_id": "{% $states.context.Execution.Input.run_id %}",
    "epoch": "{% $states.context.Execution.Input.epoch %}",
    "task_token": "{% $states.context.Task.Token %}",
}
OUTPUTS: Mapping[str, JsonValue] = {
    RESUME: {"next": "{% $states.result.Payload.next %}"},
    RECONCILE: {
        "next": "{% $states.result.Payload.next %}",
        "wait_seconds": "{% $states.result.Payload.wait_seconds %}",
    },
}
WHERE, RECONCILED, AWAIT = "WhereItStands", "Reconciled", "AwaitProvider"
CLOSED, IN_REVIEW, LOST = "Closed", "InReview", "UnknownPosition"
# What ``resume`` may answer beside the name of a stage's state, and where that leads.
POSITIONS: Mapping[str, str] = {RECONCILE: RECONCILE, "Review": IN_REVIEW, "Done": CLOSED}
ENDS = (CLOSED, IN_REVIEW, FENCED)
WAIT_SECONDS = "{% $states.input.wait_seconds %}"

FUNCTION_TIMEOUT_SECONDS: Mapping[str, int] = {
    # Reads the run head and writes one epoch: a few DynamoDB calls after a cold start.
    RESUME: 30,
    # Reads every page of what providers hold about one run's effects.
    RECONCILE: 60,
}


def check_machine(definition: WorkflowDefinition, asl: str) -> None:
    """Raise ValueError, naming everything wrong, unless ``asl`` is the machine of the version."""
    wrong = wrong_in(definition, asl)
    if wrong:
        raise ValueError(
            f"{definition.asl_path} does not fit {definition.version}:\n  " + "\n  ".join(wrong)
        )


def wrong_in(definition: WorkflowDefinition, asl: str) -> list[str]:
    """Return everything that is wrong with the state machine of a version, empty when it is right.

    Free are its comments, and its times within their bounds.
    """
    try:
        machine = read_machine(asl)
    except ValueError as error:
        return str(error).splitlines()
    return [
        *_wrong_states(definition, machine),
        *_wrong_frame(definition, machine),
        *_wrong_stages(definition, machine),
        *_wrong_times(definition, machine),
    ]


def _wrong_states(definition: WorkflowDefinition, machine: Machine) -> Iterator[str]:
    stages = [stage.state_name for stage in definition.stages]
    wanted = {
        **dict.fromkeys((RESUME, RECONCILE, *stages), TaskState),
        **dict.fromkeys((WHERE, RECONCILED), ChoiceState),
        **dict.fromkeys((PAUSE, AWAIT), WaitState),
        **dict.fromkeys(ENDS, SucceedState),
        LOST: FailState,
    }
    for name, kind in wanted.items():
        found = machine.states.get(name)
        if found is None:
            yield f"there is no state {name}"
        elif not isinstance(found, kind):
            yield f"{name} is a {found.type}, not a {kind.__name__.removesuffix('State')}"
    for name in sorted(set(machine.states) - set(wanted)):
        yield f"{name} is no state of {definition.version}"
    if machine.start_at != RESUME:
        yield f"an execution starts at {machine.start_at}, not at {RESUME}"


def _wrong_frame(definition: WorkflowDefinition, machine: Machine) -> Iterator[str]:
    for name, following in ((RESUME, WHERE), (RECONCILE, RECONCILED)):
        state = machine.states.get(name)
        if isinstance(state, TaskState):
            yield from _wrong_task(name, state, (INVOKE, INPUT, OUTPUTS[name], following))
            yield from wrong_catches(name, state, {"StaleExecution": frozenset({FENCED})})
    positions = {stage.state_name: stage.state_name for stage in definition.stages}
    yield from _wrong_choice(WHERE, machine, {**positions, **POSITIONS}, LOST)
    yield from _wrong_choice(RECONCILED, machine, {"Wait": AWAIT}, RESUME)
    for name in (PAUSE, AWAIT):
        state = machine.states.get(name)
        if not isinstance(state, WaitState):
            continue
        if state.next != RECONCILE:
            yield f"{name} goes on to {state.next}, not to {RECONCILE}"
        if isinstance(state.seconds, str) != (name == AWAIT) or (
            name == AWAIT and state.seconds != WAIT_SECONDS
        ):
            yield f"{name} waits for {state.seconds}"
    lost = machine.states.get(LOST)
    if isinstance(lost, FailState) and lost.error != LOST:
        yield f"{LOST} fails as {lost.error}"


def _wrong_choice(
    name: str, machine: Machine, ways: Mapping[str, str], default: str
) -> Iterator[str]:
    state = machine.states.get(name)
    if not isinstance(state, ChoiceState):
        return
    found = [(choice.condition, choice.next) for choice in state.choices]
    wanted = [(f"{{% $states.input.next = '{said}' %}}", way) for said, way in ways.items()]
    for condition, way in wanted:
        if (condition, way) not in found:
            yield f"{name} does not lead to {way} on {condition}"
    if len(found) > len(wanted) or set(found) - set(wanted):
        yield f"{name} has other ways than {', '.join(ways.values())}"
    if state.default != default:
        yield f"{name} leads what it does not know to {state.default}, not to {default}"


def _wrong_stages(definition: WorkflowDefinition, machine: Machine) -> Iterator[str]:
    waiting = frozenset(stage.state_name for stage in definition.stages if stage.rings_doorbell)
    if any(operation.needs_approval for operation in definition.operations) and not waiting:
        yield f"{definition.version} needs an approval, and no stage of it waits for one"
    following = {stage.name: after.state_name for stage, after in pairwise(definition.stages)}
    for stage in definition.stages:
        state = machine.states.get(stage.state_name)
        if not isinstance(state, TaskState):
            continue
        # Of what a person said the ledger is asked: it may have been no.
        after = RESUME if stage.rings_doorbell else following.get(stage.name, RESUME)
        call = (INVOKE_AND_WAIT, WAITING_PAYLOAD) if stage.rings_doorbell else (INVOKE, INPUT)
        yield from _wrong_task(stage.state_name, state, (*call, INPUT, after))
        yield from wrong_catches(stage.state_name, state, _targets(stage, waiting))


def _targets(stage: Stage, waiting: frozenset[str]) -> Mapping[str, frozenset[str]]:
    """Return where the errors of a stage have to lead."""
    resume, reconcile = frozenset({RESUME}), frozenset({RECONCILE})
    targets = {"StaleExecution": frozenset({FENCED}), "ReviewRequired": resume}
    if stage.rings_doorbell:
        return {**targets, "States.Timeout": resume}
    asked = {"ApprovalNeeded": waiting} if waiting else {}
    return {**targets, **asked, **dict.fromkeys(DOUBTS, reconcile)}


def _wrong_task(
    name: str, state: TaskState, wanted: tuple[str, JsonValue, JsonValue, str]
) -> Iterator[str]:
    resource, payload, output, following = wanted
    if state.arguments.function_name != f"${{{name}FunctionArn}}":
        yield f"{name} calls {state.arguments.function_name}, which is another state's function"
    if state.resource != resource:
        yield f"{name} calls by {state.resource}, not by {resource}"
    if state.arguments.payload != payload:
        yield f"{name} hands on other data than the ids"
    if state.output != output:
        yield f"{name} passes on other data than the next state reads"
    if state.next != following:
        yield f"{name} goes on to {state.next}, not to {following}"
    yield from wrong_retries(name, state)


def _wrong_times(definition: WorkflowDefinition, machine: Machine) -> Iterator[str]:
    least = dict(FUNCTION_TIMEOUT_SECONDS)
    for stage in definition.stages:
        person = definition.approval_lifetime_seconds if stage.rings_doorbell else 0
        least[stage.state_name] = max(stage.timeout_seconds, person)
    tasks = {name: found for name, found in machine.states.items() if isinstance(found, TaskState)}
    for name, seconds in least.items():
        if name in tasks and tasks[name].timeout_seconds <= seconds:
            yield f"{name} is given up after {tasks[name].timeout_seconds} s, and needs {seconds}"
    whole = sum(found.timeout_seconds for found in tasks.values())
    if machine.timeout_seconds <= whole:
        yield f"an execution is ended after {machine.timeout_seconds} s; its states need {whole}"
