"""What the outside holds in one world, in truth, whatever the ledger says of it.

Every scenario has a directory of customers and a mail service; its own providers come on top.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import TYPE_CHECKING, ClassVar, override

from ledger.contract import LookUp
from ledger.effect import Effect
from ledger.provider import CustomerDirectory, Provider
from ledger.record import Scalar
from ledger.run import RunLedger
from providers.contracts import CONTRACTS
from providers.stripe_api import MARK, Customer
from tests.simulation.faults import Fault

if TYPE_CHECKING:
    from tests.simulation.check import Check
    from tests.simulation.process import Process
    from tests.simulation.world import World

CUSTOMER_ID = "cus_1"
EMAIL, OTHER_EMAIL = "zebra.lovelace@marker.example", "lovelace.zebra@marker.example"
NAME = "Zebra Lovelace-Marker"

type Truth = Callable[["Check", RunLedger, Effect | None], bool]
"""Whether what a review was asked for is so."""

type Reason = tuple[str, str, Truth]
"""A kind of review, the expression that its reason fits, and whether it is so."""


@dataclass(frozen=True)
class Mail:
    """One accepted mail."""

    message_id: str
    to: str
    subject: str
    text: str
    tags: Mapping[str, str]
    at_ms: int

    @property
    def mark(self) -> str:
        """Return the effect id in its tags."""
        return self.tags[MARK]


class Outside(ABC):
    """The providers of one world. A scenario says what they hold, and what must come of it."""

    reasons: ClassVar[Sequence[Reason]] = ()
    """What a run of this kind may stop for, besides what any run may."""

    owners: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    """Site of a write to whoever else has to be asked before it, besides its own target."""

    def __init__(self, world: "World") -> None:
        """Start with one customer, and nothing sent."""
        self.world = world
        self.email = EMAIL
        self.mails: list[Mail] = []
        self.shown_failed: set[str] = set()
        """Names of records that some look-up has shown as not done, see ``name_of``."""

        self.reads_down_until_ms: dict[str, int] = {}
        """Kind of read to the time until which it gets no answer."""

        self.on_mail: Callable[[Mail], None] = world.check.mail_accepted

    # What a scenario says; the rest is what most have nothing to add to.

    @abstractmethod
    def request(self, number: int) -> dict[str, Scalar]:
        """Return what the ``number``-th run is asked for."""

    @abstractmethod
    def join(self, process: "Process") -> tuple[CustomerDirectory, Mapping[str, Provider]]:
        """Return the real adapters over the ports of one process."""

    @abstractmethod
    def marks(self, provider: str) -> frozenset[str]:
        """Return the marks of everything that a complete read of ``provider`` shows now."""

    @abstractmethod
    def is_ours(self, effect: Effect, record_id: str) -> bool:
        """Return whether the record was made by this effect of ours. Mails are looked up here."""

    @abstractmethod
    def lives(self, effect: Effect) -> bool:
        """Return whether something is, or will be, there in the name of the effect."""

    @abstractmethod
    def check_mail(self, check: "Check", ledger: RunLedger, effect: Effect, mail: Mail) -> None:
        """Raise Violation unless the mail tells what is proven."""

    def meddle(self, struck: StrEnum) -> None:
        """Let somebody else change what the providers hold."""
        match struck:
            case Fault.ADDRESS_CHANGED:
                self.email = OTHER_EMAIL

    def share_among(self, runs: int) -> None:  # noqa: B027
        """Let there be enough for several honest runs."""

    def listen(self) -> None:  # noqa: B027
        """Let the scenario's own providers tell of what happens there, beside the mail service."""

    def name_of(self, _effect: Effect, record_id: str) -> str:
        """Return what a look-up notes that shows the record as ``effect`` leaves it."""
        return record_id

    def check_read_back(self, check: "Check", process: "Process", effect: Effect) -> None:  # noqa: B027
        """Raise Violation when the proof of an effect says more than was read."""

    # What every scenario has.

    def customer(self, customer_id: str) -> Customer | None:
        """Return the customer."""
        if customer_id != CUSTOMER_ID:
            return None
        return _customer(self.email)

    def accept_mail(self, to: str, subject: str, text: str, tags: Mapping[str, str]) -> str:
        """Accept a mail. Return its id."""
        now_ms = self.world.scheduler.now_ms
        mail = Mail(f"mail-{len(self.mails) + 1}", to, subject, text, dict(tags), now_ms)
        self.mails.append(mail)
        self.on_mail(mail)
        return mail.message_id

    def was_mailed(self, effect_id: str) -> bool:
        """Return whether a mail of the effect was accepted."""
        return any(found.mark == effect_id for found in self.mails)


@cache
def _customer(email: str) -> Customer:
    return Customer(id=CUSTOMER_ID, email=email, name=NAME)


def is_mail(effect: Effect) -> bool:
    """Return whether nothing can be asked about the effect: only its own service tells."""
    return CONTRACTS[effect.provider].look_up is LookUp.NONE


class Adapters(Mapping[str, Provider]):
    """The real provider adapters over one process's ports. Most processes need one or none."""

    def __init__(self, makers: Mapping[str, Callable[[], Provider]]) -> None:
        """Start with none made."""
        self._makers = makers
        self._made: dict[str, Provider] = {}

    @override
    def __getitem__(self, name: str) -> Provider:
        made = self._made.get(name)
        if made is None:
            made = self._made[name] = self._makers[name]()
        return made

    @override
    def __iter__(self) -> Iterator[str]:
        return iter(self._makers)

    @override
    def __len__(self) -> int:
        return len(self._makers)
