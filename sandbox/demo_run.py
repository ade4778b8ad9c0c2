"""The demo's run: asked for, approved, hit by the kill, and followed to its end."""

import time
from dataclasses import dataclass
from typing import Any

from ledger.event import Event
from ledger.run import RunLedger
from sandbox.environment import Sandbox
from sandbox.errors import SandboxError
from sandbox.ledger_view import ledger_store
from sandbox.stripe_seed import CURRENCY, REFUND_AMOUNT_MINOR, Subscriber
from sandbox.timeline import Moment, Timeline, moment_of
from sandbox.waiting import wait_for

WORKFLOW = "cancel-refund"
REFUNDS_PATH = "/v1/refunds"
# Cold starts, a kill and the recovery together take about 20 s on two processors.
_RUN_TIMEOUT_SECONDS = 120.0
# A run without trouble has about 20; more than this is a loop.
_MAX_EVENTS = 1000
_QUESTION = "finds no answer on record and asks Stripe: is there a refund with our id?"
_KILL = {"match": {"method": "POST", "path": REFUNDS_PATH}, "fault": "commit_then_kill"}


@dataclass(frozen=True)
class Kill:
    """The fault that met the refund request."""

    fired_at_ms: int
    pid: int | None
    ended: bool
    """True only if the kernel confirmed that the process ended."""


def refund_request(subscriber: Subscriber) -> dict[str, Any]:
    """The body of POST /runs that asks for the sample refund."""
    return {
        "workflow": WORKFLOW,
        "request": {
            "customer_id": subscriber.customer_id,
            "subscription_id": subscriber.subscription_id,
            "charge_id": subscriber.charge_id,
            "amount_minor": REFUND_AMOUNT_MINOR,
            "currency": CURRENCY,
        },
    }


def now_ms() -> int:
    return int(time.time() * 1000)


class DemoRun:
    """One run; `play` takes it to its end, the rest reads what it left."""

    def __init__(self, sandbox: Sandbox, timeline: Timeline) -> None:
        self._sandbox = sandbox
        self._store = ledger_store(sandbox)
        self._timeline = timeline
        self._kill_shown = False
        self._look_up_shown = False
        self._shown_sequence = 0
        self.run_id = ""
        self.digest = ""

    def play(self) -> None:
        """Returns when the run is over. Raises SandboxError when it does not get there."""
        self._sandbox.stripe.arm(_KILL)
        self._start()
        self._approve(
            wait_for(self._open_approval, "the request for an approval", _RUN_TIMEOUT_SECONDS)
        )
        wait_for(self._ended, "the end of the run", _RUN_TIMEOUT_SECONDS)

    def ledger(self) -> RunLedger:
        """The run as a consistent read returns it. Raises SandboxError when there is none."""
        found = self._store.load(self.run_id)
        if found is None:
            raise SandboxError(f"the ledger has no run {self.run_id}")
        return found

    def events(self, after_sequence: int = 0) -> tuple[Event, ...]:
        return self._store.events(self.run_id, after_sequence, _MAX_EVENTS)

    def kill(self) -> Kill | None:
        """The kill, None while no refund request has arrived."""
        fired = self._sandbox.stripe.fired()
        if not fired:
            return None
        return Kill(fired[0]["fired_at_ms"], fired[0]["killed_pid"], fired[0]["killed"])

    def told(self) -> str:
        """What the API tells the customer now."""
        return str(self._sandbox.api.run(self.run_id)["message"])

    def _start(self) -> None:
        self._note("agent", "asks for a refund of USD 79.00 through the API")
        answer = self._sandbox.api.start_run(
            "demo-refund-1", refund_request(self._sandbox.subscriber)
        )
        if answer.status_code != 202:
            raise SandboxError(f"POST /runs answered {answer.status_code}: {answer.text}")
        self.run_id = answer.json()["run_id"]

    def _open_approval(self) -> dict[str, Any] | None:
        self._show()
        approval: dict[str, Any] | None = self._sandbox.api.run(self.run_id).get("approval")
        return approval

    def _approve(self, approval: dict[str, Any]) -> None:
        self.digest = approval["digest"]
        # The approval may have become visible after what was shown last.
        self._show()
        self._note("customer", "approves exactly what is shown")
        answer = self._sandbox.api.decide(
            self.run_id, approval["approval_id"], "approve", self.digest
        )
        if answer.status_code != 200:
            raise SandboxError(f"the decision was answered {answer.status_code}: {answer.text}")

    def _ended(self) -> RunLedger | None:
        run = self._show()
        return None if run.run.is_open else run

    def _show(self) -> RunLedger:
        """Prints what is new; returns the run as it stands."""
        events = self.events(self._shown_sequence)
        # Read after the events, so that it knows everything they are about.
        run = self.ledger()
        moments = [moment_of(run, event) for event in events]
        # Before the events: what led to them is printed above them where the times are equal.
        self._timeline.show([*self._at_the_provider(), *moments])
        self._shown_sequence += len(events)
        return run

    def _at_the_provider(self) -> list[Moment]:
        """The kill, and the first question about the refund after it, each once."""
        kill = self.kill()
        if kill is None:
            return []
        moments = []
        if not self._kill_shown:
            moments.append(Moment(kill.fired_at_ms, "Stripe", _sentence(kill), "bold red"))
            self._kill_shown = True
        asked_at_ms = self._first_look_up_ms(kill)
        if asked_at_ms is not None and not self._look_up_shown:
            moments.append(Moment(asked_at_ms, "ledger", _QUESTION))
            self._look_up_shown = True
        return moments

    def _first_look_up_ms(self, kill: Kill) -> int | None:
        asked = (
            int(request["received_at_ms"])
            for request in self._sandbox.stripe.requests("GET", REFUNDS_PATH)
        )
        return next((at_ms for at_ms in asked if at_ms >= kill.fired_at_ms), None)

    def _note(self, actor: str, sentence: str) -> None:
        self._timeline.show([Moment(now_ms(), actor, sentence)])


def _sentence(kill: Kill) -> str:
    if not kill.ended:
        return "committed the refund, but no worker could be killed"
    return f"commits the refund; the worker, process {kill.pid}, is killed before the answer"
