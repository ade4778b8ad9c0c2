"""Many customers at once: each asks, is asked, says yes, and is patient when an answer is lost."""

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import httpx
from botocore.exceptions import BotoCoreError, ClientError

from ledger.errors import LedgerError
from ledger.run import RunLedger
from ledger.transitions import RunState
from sandbox.api_client import Api
from sandbox.aws_seed import SampleUser, create_users, sign_in
from sandbox.demo_run import refund_request
from sandbox.environment import Sandbox
from sandbox.ledger_view import ledger_store
from sandbox.stripe_seed import Subscriber, create_subscriber, stripe_client

# More at once only makes each slower on a machine with two processors.
_AT_ONCE = 6
_SEEDED_AT_ONCE = 4
# An answer that is not there yet; a restart takes seconds.
_AGAIN_AFTER_SECONDS = 1.0
_ASKED_FOR_SECONDS = 300.0
# Then the next customer comes, whatever became of this one: recovery takes longer than a good run.
_FOLLOWED_SECONDS = 15.0
_TROUBLE = (httpx.HTTPError, BotoCoreError, ClientError, LedgerError)


@dataclass
class Customer:
    """One customer, the run that is theirs, and whether they said yes."""

    name: str
    subscriber: Subscriber
    run_id: str = ""
    approved: bool = False

    @property
    def address(self) -> str:
        """Where receipts go."""
        return _address(self.name)


@dataclass
class Crowd:
    """All customers, and how far they are; read by others while they act."""

    sandbox: Sandbox
    customers: list[Customer] = field(default_factory=list)
    troubles: list[str] = field(default_factory=list)
    """What made a customer give up."""
    _stopped: threading.Event = field(default_factory=threading.Event)

    def seed(self, runs: int, seeded: Callable[[], None]) -> None:
        """Makes the customers, each with a subscription and a way to sign in."""
        url = self.sandbox.stripe.behind_url  # past the faults and the log
        stripe = stripe_client(url)
        names = [f"chaos{number}" for number in range(1, runs + 1)]

        def make(name: str) -> Customer:
            made = Customer(name, create_subscriber(stripe, _address(name)))
            seeded()
            return made

        self.customers = [make(names[0])]  # with the plan, which all others share
        with ThreadPoolExecutor(max_workers=_SEEDED_AT_ONCE) as pool:
            self.customers += pool.map(make, names[1:])
        users = tuple(
            SampleUser(customer.name, customer_id=customer.subscriber.customer_id)
            for customer in self.customers
        )
        outputs = self.sandbox.outputs
        port, pool_id = self.sandbox.aws_port, outputs.user_pool_id
        create_users(port, pool_id, users)
        tokens = sign_in(port, pool_id, outputs.user_pool_client_id, users)
        self._api = Api(outputs.api_url, outputs.api_host_header, {**outputs.tokens, **tokens})
        self._store = ledger_store(self.sandbox)

    def act(self) -> None:
        """Lets every customer come, a few at once; returns when the last has said yes."""
        try:
            with ThreadPoolExecutor(max_workers=_AT_ONCE) as pool:
                list(pool.map(self._come, self.customers))
        finally:
            self._api.close()

    def stop(self) -> None:
        """Sends every customer home; those who wait give up within a second."""
        self._stopped.set()

    @property
    def approved(self) -> int:
        """How many have said yes."""
        return sum(customer.approved for customer in self.customers)

    def run_ids(self) -> frozenset[str]:
        """The runs that the API has promised so far."""
        return frozenset(customer.run_id for customer in self.customers if customer.run_id)

    def look(self, run_id: str) -> RunLedger | None:
        """The run by a consistent read; None when there is none, or no answer now."""
        try:
            return self._store.load(run_id)
        except _TROUBLE:
            return None

    def _come(self, customer: Customer) -> None:
        try:
            self._ask(customer)
            self._say_yes(customer)
        except TimeoutError as trouble:
            self.troubles.append(f"{customer.name} {customer.run_id}: {trouble}")
            return
        deadline = time.monotonic() + _FOLLOWED_SECONDS
        while time.monotonic() < deadline and not self._over(customer):
            if self._stopped.wait(_AGAIN_AFTER_SECONDS):
                return

    def _ask(self, customer: Customer) -> None:
        body = refund_request(customer.subscriber)

        def ask() -> str | None:
            answer = self._api.start_run(f"chaos-{customer.name}", body)
            accepted = answer.status_code == httpx.codes.ACCEPTED
            return str(answer.json()["run_id"]) if accepted else None

        customer.run_id = self._patiently(ask, "the run")

    def _say_yes(self, customer: Customer) -> None:
        customer.approved = self._patiently(
            lambda: self._answered(customer), "the question, and the customer's answer"
        )

    def _answered(self, customer: Customer) -> bool | None:
        """True once nothing is asked any more, None while the customer has to try again."""
        run = self.look(customer.run_id)
        if run is None:
            return None
        if run.run.state is RunState.REVIEW:
            return True  # a person has it, and asks nothing of the customer
        if run.pending_approval() is None:
            # A yes whose answer was lost is on record.
            return True if run.approvals else None
        shown = self._api.run(customer.run_id, customer.name)["approval"]
        if shown is None:
            return None
        path = f"/runs/{customer.run_id}/approvals/{shown['approval_id']}/decision"
        said = {"decision": "approve", "digest": shown["digest"]}
        return True if self._api.call(customer.name, "POST", path, said).is_success else None

    def _patiently[Found](self, act: Callable[[], Found | None], what: str) -> Found:
        """What `act` returns at last. Raises TimeoutError without that, and on `stop`."""
        deadline = time.monotonic() + _ASKED_FOR_SECONDS
        trouble = "no answer"
        while time.monotonic() < deadline:
            try:
                found = act()
            except _TROUBLE as error:
                trouble = type(error).__name__
            else:
                if found is not None:
                    return found
            if self._stopped.wait(_AGAIN_AFTER_SECONDS):
                raise TimeoutError(f"{what}: stopped")
        raise TimeoutError(f"{what}: not in {_ASKED_FOR_SECONDS:g} s, the last trouble: {trouble}")

    def _over(self, customer: Customer) -> bool:
        run = self.look(customer.run_id)
        return run is not None and (not run.run.is_open or run.run.state is RunState.REVIEW)


def unsettled(crowd: Crowd, run_ids: Sequence[str]) -> list[str]:
    """Those of the runs that are neither over nor with a person, as far as the ledger answers."""
    found = []
    for run_id in run_ids:
        run = crowd.look(run_id)
        if run is None or (run.run.is_open and run.run.state is not RunState.REVIEW):
            found.append(run_id)
    return found


def _address(name: str) -> str:
    return f"{name}@chaos.example"
