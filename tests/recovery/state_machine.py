"""Executions of a state machine definition, one state at a time, on a clock that a test moves."""

import json
from collections import Counter
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Protocol

from ledger.ports import Clock
from tests.recovery.states_language import (
    INVOKE_AND_WAIT,
    DefinitionError,
    State,
    evaluate,
    matches,
)

# Ids and a version: the design allows a few hundred bytes; the bound leaves room for long ids.
MAX_DATA_BYTES = 1024
# Far above a run with many crashes; more is a loop without a way out.
MAX_STEPS = 500


class TaskFailed(Exception):
    """A function's failure, by the name under which the service reports it."""

    def __init__(self, error: str) -> None:
        """Keep the error's name."""
        super().__init__(error)
        self.error = error


class Status(StrEnum):
    """How an execution stands, in the service's words."""

    RUNNING = "RUNNING"
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    TIMED_OUT = "TIMED_OUT"
    ABORTED = "ABORTED"


class Invoke(Protocol):
    """Calls the function that the definition names."""

    def __call__(self, function: str, payload: Any, /) -> Any:
        """Return the function's result. Raises TaskFailed."""


class Execution:
    """One execution. ``next_at_ms`` says when ``step`` has something to do, None when never."""

    def __init__(
        self,
        machine: Mapping[str, Any],
        name: str,
        data: Mapping[str, Any],
        clock: Clock,
        invoke: Invoke,
    ) -> None:
        """Begin at the machine's first state, now."""
        self.name = name
        self.status = Status.RUNNING
        self.next_at_ms: int | None = clock.now_ms()
        self.carried: list[str] = []
        """All inputs and outputs of states, as text."""

        self.errors: Counter[str] = Counter()
        """Every error that a state met, for tests of what was caught."""

        self._clock = clock
        self._machine = machine
        self._input = dict(data)
        self._invoke = invoke
        self._state_name: str = machine["StartAt"]
        self._data: Any = self._checked(dict(data))
        self._visits = 0
        self._steps = 0
        self._tries: Counter[int] = Counter()
        """How often each retrier of the present state was used."""

        self._token: str | None = None
        self._rung = False
        self._slept = False
        self._ends_at_ms = clock.now_ms() + machine["TimeoutSeconds"] * 1000

    @property
    def state_name(self) -> str:
        """Return the present state's name."""
        return self._state_name

    @property
    def waits_for_token(self) -> bool:
        """Return whether somebody has to ring before this goes on."""
        return self._token is not None and not self._rung

    def ring(self, token: str) -> bool:
        """Return whether a waiting state was woken. A token of an earlier wait wakes nobody."""
        if self.status is not Status.RUNNING or token != self._token or self._rung:
            return False
        self._rung = True
        self.next_at_ms = self._clock.now_ms()
        return True

    def end(self, status: Status) -> None:
        """End from outside, wherever it stands."""
        if self.status is Status.RUNNING:
            self.status = status
            self.next_at_ms = None
            self._token = None

    def step(self) -> None:
        """Do what is due. Raises DefinitionError when the execution goes in circles."""
        self._steps += 1
        if self._steps > MAX_STEPS:
            raise DefinitionError(f"{self.name} took {MAX_STEPS} steps; it goes in circles.")
        if self._clock.now_ms() >= self._ends_at_ms:
            self.end(Status.TIMED_OUT)
            return
        state = self._state
        match state["Type"]:
            case "Task":
                self._step_task(state)
            case "Choice":
                self._enter(self._choose(state), self._data, self._clock.now_ms())
            case "Wait":
                self._step_wait(state)
            case "Succeed":
                self.end(Status.SUCCEEDED)
            case _:
                self.end(Status.FAILED)

    def abandon(self, error: str, at_ms: int) -> None:
        """Take the running task for failed at ``at_ms``, whatever its function still does."""
        if self.status is Status.RUNNING:
            self._visits += 1
            self._token = None
            self._fail(self._state, error, at_ms)

    @property
    def _state(self) -> State:
        state: State = self._machine["States"][self._state_name]
        return state

    def _step_wait(self, state: State) -> None:
        if not self._slept:
            self._slept = True
            wait_seconds = int(self._value(state["Seconds"]))
            self.next_at_ms = self._clock.now_ms() + wait_seconds * 1000
        else:
            self._enter(state["Next"], self._data, self._clock.now_ms())

    def _choose(self, state: State) -> str:
        for choice in state["Choices"]:
            if self._value(choice["Condition"]) is True:
                return str(choice["Next"])
        return str(state["Default"])

    def _step_task(self, state: State) -> None:
        if self._token is not None:  # a wait that was entered before ends now
            rung, self._token = self._rung, None
            if rung:
                self._succeed(state, {})
            else:
                self._fail(state, "States.Timeout", self._clock.now_ms())
            return
        self._visits += 1
        visit = self._visits
        waits = state["Resource"] == INVOKE_AND_WAIT
        if waits:
            self._token, self._rung = f"{self.name}-token-{visit}", False
        arguments = self._value(state["Arguments"], Task={"Token": self._token})
        function = str(arguments["FunctionName"])
        self.next_at_ms = None
        try:
            result = self._invoke(function, self._checked(arguments["Payload"]))
        except TaskFailed as failed:
            self._after_failure(state, visit, failed.error)
            return
        if visit != self._visits or self.status is not Status.RUNNING:
            return  # it was taken for dead meanwhile
        if not waits:
            self._succeed(state, {"Payload": self._checked(result)})
        elif self._rung:
            self._token = None
            self._succeed(state, {})
        else:
            self.next_at_ms = self._clock.now_ms() + state["TimeoutSeconds"] * 1000

    def _after_failure(self, state: State, visit: int, error: str) -> None:
        if visit != self._visits or self.status is not Status.RUNNING:
            return
        rung, self._token = self._token is not None and self._rung, None
        if rung:  # whoever rang was faster than the function's own end
            self._succeed(state, {})
        else:
            self._fail(state, error, self._clock.now_ms())

    def _succeed(self, state: State, result: Any) -> None:
        output = self._value(state["Output"], result=result) if "Output" in state else result
        self._enter(state["Next"], output, self._clock.now_ms())

    def _fail(self, state: State, error: str, now_ms: int) -> None:
        self.errors[error] += 1
        for number, retrier in enumerate(state.get("Retry", [])):
            if not matches(retrier["ErrorEquals"], error):
                continue
            if self._tries[number] < retrier.get("MaxAttempts", 3):
                self.next_at_ms = now_ms + self._pause_ms(retrier, self._tries[number])
                self._tries[number] += 1
                return
            break  # the first retrier that names the error decides
        for catcher in state.get("Catch", []):
            if matches(catcher["ErrorEquals"], error):
                output = self._value(catcher["Output"]) if "Output" in catcher else {}
                self._enter(catcher["Next"], output, now_ms)
                return
        self.end(Status.FAILED)

    @staticmethod
    def _pause_ms(retrier: State, tries: int) -> int:
        """Return the longest pause that full jitter may choose."""
        seconds = retrier.get("IntervalSeconds", 1) * retrier.get("BackoffRate", 2) ** tries
        return int(min(seconds, retrier.get("MaxDelaySeconds", seconds)) * 1000)

    def _enter(self, name: str, data: Any, now_ms: int) -> None:
        self._state_name = name
        self._data = self._checked(data)
        self._tries.clear()
        self._slept = False
        self.next_at_ms = now_ms

    def _value(self, template: Any, **more: Any) -> Any:
        context: dict[str, Any] = {"Execution": {"Input": self._input, "Name": self.name}}
        if "Task" in more:
            context["Task"] = more.pop("Task")
        return evaluate(template, {"input": self._data, "context": context, **more})

    def _checked(self, data: Any) -> Any:
        """Return ``data`` as the service would carry it. Raises DefinitionError when it is big."""
        text = json.dumps(data)
        if len(text.encode()) > MAX_DATA_BYTES:
            raise DefinitionError(f"{self.name} carries {len(text.encode())} bytes.")
        self.carried.append(text)
        return json.loads(text)
