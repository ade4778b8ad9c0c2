"""Faults by script: which requests go wrong, how, and what came of it."""

from dataclasses import asdict, dataclass, field
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

# A script with more lines than this is a mistake, not a test.
_MAX_ARMED = 1000
_MAX_TIMES = 1000
# No client waits longer; a hold beyond this would outlive its test.
_MAX_HOLD_SECONDS = 600


class FaultKind(StrEnum):
    """What happens to a matching request."""

    COMMIT_THEN_KILL = "commit_then_kill"
    """The write stands; the process at the other end of the connection is killed."""
    COMMIT_THEN_DROP = "commit_then_drop"
    """The write stands; the connection ends without an answer."""
    DROP_BEFORE_COMMIT = "drop_before_commit"
    """Nothing is written; the connection ends without an answer."""
    COMMIT_THEN_500 = "commit_then_500"
    """The write stands; the answer is a 500, saved under the key."""
    HOLD = "hold"
    """The key is in flight for `seconds`, then the request goes on as usual."""
    COMMIT_THEN_HOLD = "commit_then_hold"
    """The write stands; its answer comes `seconds` late."""
    REFUSE = "refuse"
    """Nothing is written; the answer is `status` with `code`."""


_LOSES_ANSWER = frozenset(
    {FaultKind.COMMIT_THEN_KILL, FaultKind.COMMIT_THEN_DROP, FaultKind.DROP_BEFORE_COMMIT}
)


class Match(BaseModel):
    """Which requests a fault is for; `path` may hold shell wildcards."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    method: str = Field(pattern=r"^[A-Z]+$")
    path: str = Field(pattern=r"^/")

    def accepts(self, method: str, path: str) -> bool:
        return method == self.method and fnmatchcase(path, self.path)


class Fault(BaseModel):
    """One line of the script."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    match: Match
    fault: FaultKind
    times: int = Field(default=1, ge=1, le=_MAX_TIMES)
    seconds: float = Field(default=1.0, gt=0, le=_MAX_HOLD_SECONDS)
    status: int = Field(default=402, ge=400, le=499)
    code: str = "card_declined"

    @property
    def loses_answer(self) -> bool:
        return self.fault in _LOSES_ANSWER


@dataclass(frozen=True)
class Fired:
    """A fault that met a request, recorded once it has done what it does."""

    fault: FaultKind
    method: str
    path: str
    idempotency_key: str | None
    fired_at_ms: int
    killed_pid: int | None = None
    killed: bool = False
    """True only once the kernel said that the process has ended."""


@dataclass
class _Armed:
    fault: Fault
    times_left: int


@dataclass
class FaultScript:
    """The faults still to come, in the order they were given, and those that came."""

    _armed: list[_Armed] = field(default_factory=list)
    fired: list[Fired] = field(default_factory=list)

    def arm(self, fault: Fault) -> None:
        """Raises OverflowError when the script is longer than any test needs."""
        if len(self._armed) >= _MAX_ARMED:
            raise OverflowError(f"more than {_MAX_ARMED} faults are armed")
        self._armed.append(_Armed(fault, fault.times))

    def take(self, method: str, path: str) -> Fault | None:
        """The first fault for this request, used up once."""
        for armed in self._armed:
            if armed.fault.match.accepts(method, path):
                armed.times_left -= 1
                if armed.times_left == 0:
                    self._armed.remove(armed)
                return armed.fault
        return None

    def clear(self) -> None:
        self._armed.clear()
        self.fired.clear()

    def report(self) -> dict[str, Any]:
        armed = [
            {**one.fault.model_dump(mode="json"), "times": one.times_left} for one in self._armed
        ]
        return {"armed": armed, "fired": [asdict(one) for one in self.fired]}
