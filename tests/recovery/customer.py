"""A customer's client: asks, polls and decides as a real one would, over the API's own routes."""

import json
from collections.abc import Callable, Mapping
from typing import Any

from api.caller import Caller
from api.decide_approval import decide
from api.door import Request, Route
from api.get_run import get_run
from api.start_run import start_run
from ledger.approve import Decision
from ledger.transitions import RunState
from tests.fakes.clock import FakeClock
from tests.recovery.scenarios import Scenario, Wanted

# A client's own key may hold anything, an address too. It must not travel any further.
CALLER_KEY = "refund-for-zebra.lovelace@marker.example"
TENANT_ID = "tenant-1"
# API Gateway gives up after 29 s; a client that hears nothing repeats its request.
GIVES_UP_AFTER_MS = 29_000
REPEATS_AFTER_MS = 2_000
FIRST_POLL_AFTER_MS = 5_000
SLOWEST_POLL_MS = 3_600_000
ACCEPTED, OK = 202, 200
ENDS = frozenset({RunState.COMPLETED, RunState.CLOSED})

type Send = Callable[[str, Route, Request, Callable[[], None]], Mapping[str, Any] | None]
"""Makes one request; None when the response was lost. The last is called if it hangs."""


class Customer:
    """Wants one run, approves exactly what was wanted, and repeats whatever got no answer."""

    def __init__(
        self, clock: FakeClock, send: Send, scenario: Scenario, wanted: Wanted | None = None
    ) -> None:
        """Want a run of the scenario's version, of ``wanted`` where it is given, from now on."""
        wanted = scenario.wanted if wanted is None else wanted
        self.customer_id = str(wanted["customer_id"])
        self.run_id: str | None = None
        self.next_at_ms: int | None = clock.now_ms()
        self.statuses: list[dict[str, Any]] = []
        """Every status that was shown, oldest first."""

        self.refusals: list[dict[str, Any]] = []
        self.decision = Decision.APPROVE
        self.decides_after_ms = 0
        """How long the customer thinks before answering."""

        self._clock = clock
        self._send = send
        self.workflow = scenario.definition.version
        """What is asked for: a workflow's name or a version."""

        self._check_shown = scenario.check_shown
        self._wanted = dict(wanted)
        self._turns = 0
        self._poll_ms = FIRST_POLL_AFTER_MS
        self._deciding: dict[str, Any] | None = None

    @property
    def caller(self) -> Caller:
        """Return what the customer's token says."""
        return Caller(
            subject=f"user-of-{self.customer_id}",
            tenant_id=TENANT_ID,
            customer_id=self.customer_id,
            groups=frozenset(),
        )

    def act(self) -> None:
        """Make the next request and plan the one after it."""
        self._turns += 1
        turn = self._turns
        self.next_at_ms = self._clock.now_ms() + GIVES_UP_AFTER_MS
        if self.run_id is None:
            response = self.ask()
        elif self._deciding is not None:
            response = self.answer(self._deciding, self.decision)
        else:
            response = self.read()
        if turn == self._turns:
            self._hear(response)

    def give_up(self) -> None:
        """Wait no longer for the request that is under way, and hear no late answer to it."""
        self._turns += 1

    def ask(self) -> Mapping[str, Any] | None:
        """Send ``POST /runs``, with the same key each time."""
        body = {"workflow": self.workflow, "request": self._wanted}
        return self._request("POST /runs", start_run, {}, body)

    def read(self) -> Mapping[str, Any] | None:
        """Send ``GET /runs/{run_id}``."""
        return self._request("GET /runs", get_run, {"run_id": self._own_run()}, None)

    def answer(self, approval: Mapping[str, Any], decision: Decision) -> Mapping[str, Any] | None:
        """Send the decision about an approval, with the digest that was shown."""
        path = {"run_id": self._own_run(), "approval_id": str(approval["approval_id"])}
        body = {"decision": decision.value, "digest": approval["digest"]}
        return self._request("POST decision", decide, path, body)

    def _own_run(self) -> str:
        if self.run_id is None:
            raise AssertionError("The customer knows of no run yet.")
        return self.run_id

    def _request(
        self, name: str, route: Route, path: dict[str, str], body: object
    ) -> Mapping[str, Any] | None:
        request = Request(
            caller=self.caller,
            headers={"idempotency-key": CALLER_KEY},
            path=path,
            body="" if body is None else json.dumps(body),
        )
        return self._send(name, route, request, self.give_up)

    def _hear(self, response: Mapping[str, Any] | None) -> None:
        self.next_at_ms = self._clock.now_ms() + REPEATS_AFTER_MS
        if response is None or response["statusCode"] >= 500:
            return
        said: dict[str, Any] = json.loads(str(response["body"]))
        if response["statusCode"] not in (OK, ACCEPTED):
            self.refusals.append(said)
            self._deciding = None  # read again what is asked now
            return
        self.run_id = said["run_id"]
        self.statuses.append(said)
        self._plan(said)

    def _plan(self, said: Mapping[str, Any]) -> None:
        asked = said["approval"]
        self._deciding = None
        if said["status"] in ENDS:
            self.next_at_ms = None
        elif asked is not None:
            self._check_shown(asked["payload"], self._wanted)
            self._deciding = asked
            self.next_at_ms = self._clock.now_ms() + self.decides_after_ms
            self._poll_ms = FIRST_POLL_AFTER_MS
        else:
            self.next_at_ms = self._clock.now_ms() + self._poll_ms
            self._poll_ms = min(2 * self._poll_ms, SLOWEST_POLL_MS)
