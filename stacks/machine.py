"""A state machine definition: the part of the States Language that this app uses, and no more."""

import json
from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, PositiveInt, ValidationError
from pydantic.alias_generators import to_pascal

# The States Language: a Standard execution lasts a year at most.
MAX_EXECUTION_SECONDS = 365 * 24 * 3600
# Every retry is bounded. Ten with growing pauses outlast what is not an outage; one is waited out.
MAX_RETRIES = 10
MAX_RETRY_DELAY_SECONDS = 60
MAX_BACKOFF_RATE = 10
# Whoever waits longer than this looks dead to the customer.
MAX_PAUSE_SECONDS = 3_600


class _Part(BaseModel):
    """A part of a definition. A field that is not listed here is refused, not overlooked."""

    model_config = ConfigDict(alias_generator=to_pascal, extra="forbid", frozen=True, strict=True)

    comment: str = ""


class Retrier(_Part):
    """Errors after which a state is entered again."""

    error_equals: list[str] = Field(min_length=1)
    interval_seconds: int = Field(gt=0, le=MAX_RETRY_DELAY_SECONDS)
    backoff_rate: float = Field(ge=1, le=MAX_BACKOFF_RATE)
    max_attempts: int = Field(gt=0, le=MAX_RETRIES)
    max_delay_seconds: int = Field(gt=0, le=MAX_RETRY_DELAY_SECONDS)
    jitter_strategy: Literal["FULL"]


class Catcher(_Part):
    """Errors that lead to another state."""

    error_equals: list[str] = Field(min_length=1)
    output: JsonValue
    next: str


class Arguments(_Part):
    """Which function a state calls, with what."""

    function_name: str
    payload: JsonValue


class TaskState(_Part):
    """A state that calls a function."""

    type: Literal["Task"]
    resource: str
    arguments: Arguments
    output: JsonValue
    timeout_seconds: PositiveInt
    retry: list[Retrier] = Field(min_length=1)
    catch: list[Catcher] = Field(min_length=1)
    next: str


class Choice(_Part):
    """One way on."""

    condition: str
    next: str


class ChoiceState(_Part):
    """A state that looks at its input."""

    type: Literal["Choice"]
    choices: list[Choice] = Field(min_length=1)
    default: str


class WaitState(_Part):
    """A state that lets time pass."""

    type: Literal["Wait"]
    seconds: Annotated[int, Field(gt=0, le=MAX_PAUSE_SECONDS)] | str
    next: str


class SucceedState(_Part):
    """An end of the execution; the ledger says how the run stands."""

    type: Literal["Succeed"]


class FailState(_Part):
    """An end that should never be reached."""

    type: Literal["Fail"]
    error: str
    cause: str


type State = Annotated[
    TaskState | ChoiceState | WaitState | SucceedState | FailState, Field(discriminator="type")
]


class Machine(_Part):
    """A whole definition."""

    query_language: Literal["JSONata"]
    start_at: str
    timeout_seconds: int = Field(gt=0, le=MAX_EXECUTION_SECONDS)
    states: dict[str, State]


def read_machine(asl: str) -> Machine:
    """Return the definition in ``asl``. Raises ValueError, a line for everything wrong in it."""
    try:
        return Machine.model_validate(json.loads(asl, object_pairs_hook=_no_duplicates))
    except ValidationError as error:
        raise ValueError(
            "\n".join(
                f"{'.'.join(str(part) for part in found['loc'])}: {found['msg']}"
                for found in error.errors()
            )
        ) from error


def _no_duplicates(pairs: Sequence[tuple[str, object]]) -> dict[str, object]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError(f"A name appears twice among {', '.join(name for name, _ in pairs)}")
    return members
