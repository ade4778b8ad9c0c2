"""The faults of a chaos run: a plan drawn from a seed, and the hands that carry it out."""

import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from botocore.exceptions import ClientError

from sandbox import kernel
from sandbox.chaos_aws import KeptAws
from sandbox.clients import aws_client
from sandbox.environment import Sandbox

_REFUND = {"method": "POST", "path": "/v1/refunds"}
_RENEWAL = {"method": "POST", "path": "/v1/subscriptions/*"}
_LIST = {"method": "GET", "path": "/v1/refunds"}
_CHARGE = {"method": "GET", "path": "/v1/charges/*"}
# Later than this the last runs would meet none of them.
_LAST_MOMENT = 0.85
# Each costs every open run one of the executions after which a person has it.
_FAULTS_PER_RESTART = 50
_KILL_TIMEOUT_SECONDS = 5.0
# A worker is at work when it used the processor between two looks this far apart.
_LOOK_SECONDS = 0.03
_LOOKS = 20


class FaultKind(StrEnum):
    """What goes wrong, in the words of the summary."""

    REFUND_KILL = "worker killed after the refund was committed"
    RENEWAL_KILL = "worker killed after the renewal was ended"
    REFUND_DROP = "answer dropped after the refund was committed"
    RENEWAL_DROP = "answer dropped after the renewal was ended"
    REFUND_LOST = "refund request lost before it was committed"
    RENEWAL_LOST = "renewal request lost before it was committed"
    REFUND_500 = "500 although the refund was committed"
    RENEWAL_500 = "500 although the renewal was ended"
    LIST_500 = "500 to a look-up of refunds"
    CHARGE_500 = "500 to a read of the charge"
    REFUSAL = "refund refused"
    WORKER_KILL = "worker killed at any moment"
    MAIL_LOST = "answer of the mail service lost"
    EXECUTION_STOPPED = "execution stopped"
    RESTART = "AWS restarted with its state"


AT_STRIPE: Mapping[FaultKind, dict[str, Any]] = {
    FaultKind.REFUND_KILL: {"match": _REFUND, "fault": "commit_then_kill"},
    FaultKind.RENEWAL_KILL: {"match": _RENEWAL, "fault": "commit_then_kill"},
    FaultKind.REFUND_DROP: {"match": _REFUND, "fault": "commit_then_drop"},
    FaultKind.RENEWAL_DROP: {"match": _RENEWAL, "fault": "commit_then_drop"},
    FaultKind.REFUND_LOST: {"match": _REFUND, "fault": "drop_before_commit"},
    FaultKind.RENEWAL_LOST: {"match": _RENEWAL, "fault": "drop_before_commit"},
    FaultKind.REFUND_500: {"match": _REFUND, "fault": "commit_then_500"},
    FaultKind.RENEWAL_500: {"match": _RENEWAL, "fault": "commit_then_500"},
    FaultKind.LIST_500: {"match": _LIST, "fault": "commit_then_500"},
    FaultKind.CHARGE_500: {"match": _CHARGE, "fault": "commit_then_500"},
    FaultKind.REFUSAL: {"match": _REFUND, "fault": "refuse"},
}
# The killed worker first: it is what the whole project is about.
_WEIGHTS: Mapping[FaultKind, int] = {
    FaultKind.REFUND_KILL: 16,
    FaultKind.RENEWAL_KILL: 8,
    FaultKind.REFUND_DROP: 10,
    FaultKind.RENEWAL_DROP: 6,
    FaultKind.REFUND_LOST: 8,
    FaultKind.RENEWAL_LOST: 5,
    FaultKind.REFUND_500: 8,
    FaultKind.RENEWAL_500: 5,
    FaultKind.LIST_500: 6,
    FaultKind.CHARGE_500: 4,
    FaultKind.REFUSAL: 3,
    FaultKind.WORKER_KILL: 12,
    FaultKind.MAIL_LOST: 5,
    FaultKind.EXECUTION_STOPPED: 4,
}


@dataclass(frozen=True)
class Planned:
    """One fault, and how many approvals were given before it comes."""

    after_approvals: int
    kind: FaultKind


def plan(seed: int, faults: int, runs: int) -> tuple[Planned, ...]:
    """The faults in the order in which they come; the same for the same three numbers."""
    dice = random.Random(seed)  # noqa: S311  a replayable plan, no secret
    restarts = max(1, faults // _FAULTS_PER_RESTART)
    kinds = dice.choices(list(_WEIGHTS), list(_WEIGHTS.values()), k=max(0, faults - restarts))
    drawn = [Planned(int(dice.uniform(0, _LAST_MOMENT) * runs), kind) for kind in kinds]
    # Evenly apart: two in one minute would be one longer one.
    drawn += [
        Planned(int(_LAST_MOMENT * runs * (number + 1) / (restarts + 1)), FaultKind.RESTART)
        for number in range(restarts)
    ]
    return tuple(sorted(drawn, key=lambda fault: fault.after_approvals))


@dataclass(frozen=True)
class Happened:
    """A fault that really met something."""

    kind: FaultKind
    at_ms: int
    idempotency_key: str | None = None
    """Of the write that it met, where it met one."""
    until_ms: int = 0
    """When it was over, for a restart."""


class Faults:
    """Carries faults out, and tells which of them met something."""

    def __init__(self, sandbox: Sandbox, kept: KeptAws, seed: int) -> None:
        self._sandbox = sandbox
        self._kept = kept
        self._dice = random.Random(seed)  # noqa: S311  which worker, which execution
        self._own: list[Happened] = []
        self._mails_before = len(sandbox.mail.switches.accepted_unheard)
        self._acts: Mapping[FaultKind, Callable[[], bool]] = {
            FaultKind.WORKER_KILL: self._kill_a_worker,
            FaultKind.EXECUTION_STOPPED: self._stop_an_execution,
            FaultKind.RESTART: self._restart,
        }

    def inject(self, kind: FaultKind) -> None:
        """Arms the fault, or does it at once. Raises SandboxError when the AWS stays away."""
        if kind in AT_STRIPE:
            self._sandbox.stripe.arm(AT_STRIPE[kind])
        elif kind is FaultKind.MAIL_LOST:
            self._sandbox.mail.switches.lose_answers += 1
        else:
            began_ms = _now_ms()
            if self._acts[kind]():
                self._own.append(Happened(kind, began_ms, until_ms=_now_ms()))

    def happened(self) -> tuple[Happened, ...]:
        """Those that met a request, a process, an execution or a mail, by time."""
        mails = len(self._sandbox.mail.switches.accepted_unheard) - self._mails_before
        at_stripe = [
            Happened(_kind_of(fired), fired["fired_at_ms"], fired["idempotency_key"])
            for fired in self._sandbox.stripe.fired()
            # A kill counts once the kernel has said that the process ended.
            if fired["fault"] != "commit_then_kill" or fired["killed"]
        ]
        lost = [Happened(FaultKind.MAIL_LOST, 0)] * mails
        return tuple(sorted([*at_stripe, *self._own, *lost], key=lambda fault: fault.at_ms))

    def _restart(self) -> bool:
        self._kept.restart()
        return True

    def _kill_a_worker(self) -> bool:
        """One that is at work; False when none was in the time that is given to look."""
        for _ in range(_LOOKS):
            before = _processor_time(self._kept.pid)
            time.sleep(_LOOK_SECONDS)
            after = _processor_time(self._kept.pid)
            at_work = sorted(pid for pid in after if after[pid] > before.get(pid, after[pid]))
            if at_work:
                return kernel.kill_for_certain(self._dice.choice(at_work), _KILL_TIMEOUT_SECONDS)
        return False

    def _stop_an_execution(self) -> bool:
        machines = aws_client("stepfunctions", self._sandbox.aws_port)
        running = sorted(
            execution["executionArn"]
            for arn in self._sandbox.outputs.state_machine_arns.values()
            for execution in machines.list_executions(stateMachineArn=arn, statusFilter="RUNNING")[
                "executions"
            ]
        )
        if not running:
            return False
        try:
            machines.stop_execution(executionArn=self._dice.choice(running))
        except ClientError:
            return False  # it had ended by itself
        return True


def _kind_of(fired: Mapping[str, Any]) -> FaultKind:
    """The kind whose line in the provider's script this was."""
    for kind, fault in AT_STRIPE.items():
        match = fault["match"]
        same_path = fired["path"].startswith(match["path"].rstrip("*"))
        if (fired["fault"], fired["method"]) == (fault["fault"], match["method"]) and same_path:
            return kind
    raise KeyError(f"no kind of fault is {fired}")


def _processor_time(ancestor: int) -> dict[int, int]:
    """What each process below has used so far, in ticks of the kernel's clock."""
    used: dict[int, int] = {}
    for pid in kernel.descendants_of(ancestor):
        try:
            fields = (kernel.PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        used[pid] = int(fields[11]) + int(fields[12])  # proc(5): utime and stime
    return used


def _now_ms() -> int:
    return int(time.time() * 1000)
