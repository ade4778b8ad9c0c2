"""API Gateway for one world: verified claims and a body in, the functions' answer and log out."""

import base64
import json
from collections.abc import Callable, Mapping
from io import StringIO
from typing import Any

import pytest
from aws_lambda_powertools.utilities.typing import LambdaContext

import api.door
from api.act_on_run import handler as act_on_run
from api.customer_words import handler as customer_words
from api.decide_approval import handler as decide_approval
from api.get_run import handler as get_run
from api.list_reviews import handler as list_reviews
from api.operator_view import handler as operator_view
from api.resume_packet import handler as resume_packet
from api.start_run import handler as start_run
from ledger.errors import LedgerUnavailable
from ledger.ports import Ports
from ledger.store import Change
from tests.recovery.customer import CALLER_KEY, TENANT_ID
from tests.recovery.logs import log_into
from tests.recovery.scenarios.cancel_refund import WANTED
from tests.recovery.world import World
from workflows.registry import CURRENT

# Those of the world's own customer, who goes on with what was asked here.
KEY = CALLER_KEY
type Handler = Callable[[Mapping[str, object], LambdaContext], Mapping[str, Any]]

CUSTOMER = {
    "sub": "user-of-cus_1",
    "custom:tenant_id": TENANT_ID,
    "custom:customer_id": WANTED["customer_id"],
}
AGENT = {"sub": "sub-agent", "custom:tenant_id": TENANT_ID, "cognito:groups": "[agents]"}
OPERATOR = {"sub": "sub-operator", "custom:tenant_id": TENANT_ID, "cognito:groups": "[operators]"}
STRANGER = {
    "sub": "sub-stranger",
    "custom:tenant_id": "tenant-2",
    "cognito:groups": "[operators agents]",
}
WISH: Mapping[str, Any] = {
    "workflow": CURRENT["cancel-refund"].version,
    "request": dict(WANTED),
}


class Answer:
    """What came back."""

    def __init__(self, response: Mapping[str, Any]) -> None:
        """Read the response as a client does."""
        self.status: int = response["statusCode"]
        self.headers: Mapping[str, str] = response["headers"]
        self.text: str = response["body"]
        self.body: Any = json.loads(self.text)

    def assert_problem(self, status: int, kind: str) -> None:
        """Fail unless this is a problem of that kind which says what to do."""
        assert (self.status, self.headers["content-type"]) == (status, "application/problem+json")
        assert self.body["type"] == f"urn:recovery-ledger:problem:{kind}"
        assert self.body["status"] == status
        assert self.body["title"]
        assert self.body["detail"].endswith(".")


class Gateway:
    """Sends events to the handlers of one world's functions."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Join every function to the fakes of a new world."""
        self._patch = monkeypatch
        self.world = World()
        self._log = StringIO()
        self.joined: Callable[[], Ports] = lambda: self.world.outside.join(self.world.orchestrator)
        for name in ("ports", "ports_for_a_person"):
            monkeypatch.setattr(api.door, name, lambda: self.joined())

    def break_store(self) -> None:
        """Let the ledger's table take no more writes, and say nothing about it."""

        def commit(_change: Change) -> None:
            raise LedgerUnavailable("The ledger's table gave no answer.")

        self._patch.setattr(self.world.store, "commit", commit)

    @property
    def lines(self) -> list[dict[str, Any]]:
        """Return what was logged, oldest first."""
        return [json.loads(line) for line in self._log.getvalue().splitlines()]

    @property
    def attempts(self) -> list[dict[str, Any]]:
        """Return the line that each request left, oldest first."""
        return [line for line in self.lines if line["message"] == "attempt"]

    @property
    def run_id(self) -> str:
        """Return the id of the only run."""
        return self.world.ledger.run.run_id

    @property
    def starts(self) -> list[str]:
        """Return the names of the executions that were started."""
        return list(self.world.orchestrator.executions)

    def send(
        self,
        handler: Handler,
        claims: object,
        body: object = None,
        path: Mapping[str, str] | None = None,
        **event: object,
    ) -> Answer:
        """Return the answer to one request; ``event`` replaces members of the event."""
        text = body if isinstance(body, str) else json.dumps(body)
        whole = {
            "version": "2.0",
            "headers": {"Idempotency-Key": KEY},
            "requestContext": {"authorizer": {"jwt": {"claims": claims, "scopes": None}}},
            "pathParameters": path,
            "body": None if body is None else text,
            "isBase64Encoded": False,
            **event,
        }
        with log_into(self._log):
            return Answer(handler(whole, LambdaContext()))

    def ask(self, wish: object = WISH, claims: object = CUSTOMER, **event: Any) -> Answer:
        """``POST /runs``."""
        return self.send(start_run, claims, wish, **event)

    def read(self, claims: object = CUSTOMER) -> Answer:
        """``GET /runs/{run_id}``."""
        return self.send(get_run, claims, path={"run_id": self.run_id})

    def view(self, claims: object = OPERATOR, run_id: str | None = None) -> Answer:
        """``GET /runs/{run_id}/view``."""
        return self.send(operator_view, claims, path=self._path(run_id))

    def reviews(self, claims: object = OPERATOR, cursor: str | None = None) -> Answer:
        """``GET /reviews``."""
        query = {} if cursor is None else {"queryStringParameters": {"cursor": cursor}}
        return self.send(list_reviews, claims, **query)

    def words(self, claims: object = OPERATOR) -> Answer:
        """``GET /runs/{run_id}/customer-words``."""
        return self.send(customer_words, claims, path={"run_id": self.run_id})

    def packet(self, claims: object = AGENT) -> Answer:
        """``GET /runs/{run_id}/packet``."""
        return self.send(resume_packet, claims, path={"run_id": self.run_id})

    def act(self, body: object, claims: object = OPERATOR, run_id: str | None = None) -> Answer:
        """``POST /runs/{run_id}/actions``."""
        return self.send(act_on_run, claims, body, self._path(run_id))

    def _path(self, run_id: str | None) -> dict[str, str]:
        return {"run_id": self.run_id if run_id is None else run_id}

    def choose(self, action: str, **body: object) -> Answer:
        """Look, and choose an action on what was seen."""
        version = self.view().body["facts"]["view_version"]
        return self.act(
            {"action": action, "view_version": version, "reason": "the desk asked", **body}
        )

    def decide(self, body: object, approval_id: str, claims: object = CUSTOMER) -> Answer:
        """``POST /runs/{run_id}/approvals/{approval_id}/decision``."""
        path = {"run_id": self.run_id, "approval_id": approval_id}
        return self.send(decide_approval, claims, body, path)


def encoded(body: object) -> str:
    """Return a body as API Gateway hands a binary one over."""
    return base64.b64encode(json.dumps(body).encode()).decode()
