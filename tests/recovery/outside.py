"""What outlives every process: the ledger's table, the providers, the time; all of it fakes."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping
from typing import cast

from adapters.memory_store import MemoryStore
from ledger.contract import FaultKind
from ledger.ports import Doorbell, Executions, Ports
from ledger.provider import CustomerDirectory, Provider, ProviderFault
from ledger.store import LedgerStore
from providers.ses_client import SesClient, SesMailer
from providers.stripe_client import StripeLibrary
from providers.stripe_customers import StripeCustomers
from providers.stripe_transport import Answer, Transport
from tests.fakes.clock import FakeClock, FakeIds
from tests.fakes.ses import FakeSes
from tests.fakes.stripe import FakeStripe
from tests.recovery.orchestrator import Orchestrator
from tests.recovery.tap import Tap
from workflows.migrations import VERSIONS

CUSTOMER_EMAIL = "zebra.lovelace@marker.example"
CUSTOMER_NAME = "Zebra Lovelace-Marker"
KEY_HEADER = "Idempotency-Key"
DEFINITE_NO = frozenset({400, 401, 402, 403, 404})


class Outside(ABC):
    """The fakes, and new adapters over them for each process. A scenario says which."""

    def __init__(
        self, clock: FakeClock, tap: Tap, *, keys_honoured: bool, store: LedgerStore | None
    ) -> None:
        """Keep the ledger in ``store``, in memory where none is given.

        Without ``keys_honoured`` Stripe takes each request for a new one, as with old keys.
        """
        self.clock = clock
        self.ids = FakeIds()
        self.store = store or MemoryStore()
        self.stripe = FakeStripe(clock)
        self.ses = FakeSes(clock)
        self.stripe_reachable = True
        self.next_answers: list[Answer] = []
        """Given to the next writes in place of Stripe's own answers; nothing is carried out."""

        self.refused_keys: set[str] = set()
        """Keys of writes to which Stripe said a definite no."""

        self.writers: Counter[str] = Counter()
        """Writes to Stripe by the kind of process that made them."""

        self._tap = tap
        self._keys_honoured = keys_honoured

    @abstractmethod
    def seed(self, wanted: Mapping[str, str | int]) -> None:
        """Put whatever a request names into the fakes."""

    @abstractmethod
    def providers(self) -> list[Provider]:
        """Return the adapters of a new process, over clients that are tapped."""

    def add_customer(self, customer_id: str) -> None:
        """Put a customer who can be written to into Stripe."""
        world = self.stripe.world
        world.add_customer(customer_id, CUSTOMER_EMAIL)
        world.customers[customer_id].name = CUSTOMER_NAME

    def join(self, orchestrator: Orchestrator) -> Ports:
        """Return the ports of a new process, each tapped, with nothing kept from an older one."""
        directory = StripeCustomers(self.stripe_library())
        return Ports(
            store=cast("LedgerStore", self.tapped("store", self.store)),
            clock=self.clock,
            ids=self.ids,
            providers={
                found.contract.provider: cast(
                    "Provider", self.tapped(found.contract.provider, found)
                )
                for found in self.providers()
            },
            directory=cast("CustomerDirectory", self.tapped("directory", directory)),
            executions=cast("Executions", self.tapped("executions", orchestrator)),
            doorbell=cast("Doorbell", self.tapped("doorbell", orchestrator)),
            versions=VERSIONS,
        )

    def tapped(self, port: str, target: object) -> object:
        """Return a stand-in for ``target`` at whose every call a fault may strike."""
        wrapped: object = self._tap.wrap(port, target)
        return wrapped

    def mailer(self) -> SesMailer:
        """Return SES's adapter for a new process, its every request tapped."""
        client = cast("SesClient", self.tapped("ses", self.ses))
        return SesMailer(client, "receipts@shop.example", None)

    def stripe_library(self) -> StripeLibrary:
        """Return Stripe's adapter for a new process, its every request tapped."""
        send = cast("Transport", self.tapped("stripe", self._send))
        return StripeLibrary("sk_test_sample", "https://stripe.invalid", send)

    def _send(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> Answer:
        if not self.stripe_reachable:
            raise ProviderFault(FaultKind.NO_ANSWER)
        if method == "GET":
            return self.stripe(method, path, headers, body)
        self.writers[self._tap.process] += 1
        if self.next_answers:
            return self.next_answers.pop(0)
        if not self._keys_honoured:
            headers = {name: text for name, text in headers.items() if name != KEY_HEADER}
        answer = self.stripe(method, path, headers, body)
        if answer.status in DEFINITE_NO:
            self.refused_keys.add(headers.get(KEY_HEADER, ""))
        return answer
