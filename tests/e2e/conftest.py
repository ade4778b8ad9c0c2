"""The shared sandbox, and a customer with a subscription of their own for each test."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from typing import Any

import pytest

from ledger.event import Event
from ledger.run import RunLedger
from sandbox.api_client import Api
from sandbox.aws_seed import SampleUser, create_users, sign_in
from sandbox.demo_run import refund_request
from sandbox.environment import Sandbox
from sandbox.ledger_view import ledger_store
from sandbox.stripe_seed import Subscriber
from sandbox.waiting import wait_for

# Two processors, cold functions and a recovery by the sweeper: far above what is seen.
PATIENCE_SECONDS = 240.0
MAX_EVENTS = 1000


@dataclass
class Person:
    """A customer who asks through the agent and decides for themselves."""

    sandbox: Sandbox
    subscriber: Subscriber
    email: str
    api: Api

    def request(self, **changes: Any) -> dict[str, Any]:
        body = refund_request(self.subscriber)
        return {**body, "request": {**body["request"], **changes}}

    def ask(self, key: str = "first") -> str:
        answer = self.api.start_run(f"{self.subscriber.customer_id}-{key}", self.request())
        assert answer.status_code == 202, answer.text
        return str(answer.json()["run_id"])

    def shown_approval(self, run_id: str) -> dict[str, Any]:
        def look() -> dict[str, Any] | None:
            shown: dict[str, Any] | None = self.api.run(run_id).get("approval")
            return shown

        return wait_for(look, "the request for an approval", PATIENCE_SECONDS)

    def approve(self, run_id: str) -> None:
        shown = self.shown_approval(run_id)
        answer = self.api.decide(run_id, shown["approval_id"], "approve", shown["digest"])
        assert answer.status_code == 200, answer.text

    def ledger(self, run_id: str) -> RunLedger:
        found = ledger_store(self.sandbox).load(run_id)
        assert found is not None
        return found

    def events(self, run_id: str) -> tuple[Event, ...]:
        return ledger_store(self.sandbox).events(run_id, 0, MAX_EVENTS)

    def execution_arn(self, run_id: str) -> str:
        """Return the execution that the run has now."""
        run = self.ledger(run_id).run
        name, _, number = run.workflow.partition("@")
        output = f"{''.join(word.capitalize() for word in name.split('-'))}V{number}"
        machine_arn = self.sandbox.outputs.state_machine_arns[output]
        return machine_arn.replace(":stateMachine:", ":execution:") + f":{run.execution_name}"

    def wait_until_closed(self, run_id: str) -> RunLedger:
        def look() -> RunLedger | None:
            ledger = self.ledger(run_id)
            return None if ledger.run.is_open else ledger

        return wait_for(look, "the end of the run", PATIENCE_SECONDS)


@pytest.fixture(scope="session")
def numbers() -> Iterator[int]:
    return count(1)


@pytest.fixture
def person(sandbox: Sandbox, numbers: Iterator[int]) -> Iterator[Person]:
    with new_person(sandbox, f"person{next(numbers)}") as made:
        yield made


@contextmanager
def new_person(sandbox: Sandbox, name: str) -> Iterator[Person]:
    """Yield a customer who can sign in; what was armed at the provider ends with them."""
    email = f"{name}@marker.example"
    subscriber = sandbox.create_subscriber(email)
    outputs = sandbox.outputs
    user = SampleUser(name, customer_id=subscriber.customer_id)
    create_users(sandbox.aws_port, outputs.user_pool_id, (user,))
    token = sign_in(sandbox.aws_port, outputs.user_pool_id, outputs.user_pool_client_id, (user,))[
        name
    ]
    api = Api(outputs.api_url, outputs.api_host_header, {**outputs.tokens, "customer": token})
    yield Person(sandbox, subscriber, email, api)
    api.close()
    sandbox.stripe.release_held()
    sandbox.stripe.reset()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep the suite on one worker: it shares one sandbox, and the other worker has other work."""
    for item in items:
        if "tests/e2e" in item.path.as_posix():
            item.add_marker(pytest.mark.xdist_group("sandbox"))
