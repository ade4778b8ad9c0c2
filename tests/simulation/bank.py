"""The providers' own truth: what they hold, which keys they know, what they showed to whom.

Idempotency keys behave as Stripe documents them: the first request under a key decides; a repeat
gets its saved answer, a 500 included; the same key with other parameters, or while the first
request still runs, is refused; after 24 hours the key is forgotten.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, lru_cache

from ledger.contract import FaultKind
from ledger.provider import ProviderFault
from providers.stripe_api import MARK, Charge, Customer, Refund, RefundList, Subscription
from providers.stripe_notice import Kind, Reference
from tests.simulation.dice import Dice
from tests.simulation.faults import Fault
from tests.simulation.scheduler import Scheduler

CUSTOMER_ID, CHARGE_ID = "cus_1", "ch_1"
SUBSCRIPTION_IDS = ("sub_1", "sub_2")
EMAIL, OTHER_EMAIL = "zebra.lovelace@marker.example", "lovelace.zebra@marker.example"
CURRENCY = "usd"
CHARGED_MINOR = 10_000
KEY_LIFETIME_MS = 24 * 3_600_000
ABOUT_CHARGE = Reference(Kind.CHARGE, CHARGE_ID)
LIVE_STATUSES = frozenset({"succeeded", "pending", "requires_action"})
# When a pending refund ends, or one that succeeded fails after all.
ENDS_AFTER_MS = (10_000, 5 * 24 * 3_600_000)

MAX_SHOWN = 1_000  # records as they are shown, which are frozen

type Answer = Refund | Subscription | ProviderFault


@dataclass
class RefundTruth:
    """One refund as the provider holds it."""

    record_id: str
    amount_minor: int
    status: str
    metadata: dict[str, str]
    made_at_ms: int

    @property
    def mark(self) -> str | None:
        """Return the effect id in its metadata."""
        return self.metadata.get(MARK)

    @property
    def is_live(self) -> bool:
        """Return whether money has moved or will."""
        return self.status in LIVE_STATUSES


@dataclass
class Renewal:
    """One subscription's renewal as the provider holds it."""

    off: bool = False
    metadata: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Mail:
    """One accepted mail."""

    message_id: str
    to: str
    text: str
    tags: Mapping[str, str]
    at_ms: int

    @property
    def mark(self) -> str:
        """Return the effect id in its tags."""
        return self.tags[MARK]


@dataclass
class SavedKey:
    """What the provider remembers of the first request under a key; no answer while it runs."""

    request: str
    first_used_at_ms: int
    answer: Answer | None = None


@dataclass
class Bank:
    """Stripe and SES for one customer: one charge, two subscriptions, one address."""

    scheduler: Scheduler
    rng: Dice
    refunds: list[RefundTruth] = field(default_factory=list)
    mails: list[Mail] = field(default_factory=list)
    shown_failed: set[str] = field(default_factory=set)
    """Ids of records that some look-up has shown as not done."""

    refused_keys: set[str] = field(default_factory=set)
    """Keys to whose request the provider said a definite no."""

    keys_used: dict[str, set[str]] = field(default_factory=dict)
    """Effect id to the keys under which its writes arrived."""

    renewals: dict[str, Renewal] = field(
        default_factory=lambda: {name: Renewal() for name in SUBSCRIPTION_IDS}
    )
    disputed: bool = False
    email: str = EMAIL
    reads_down_until_ms: dict[str, int] = field(default_factory=dict)
    """Kind of read to the time until which it gets no answer."""

    on_refund: Callable[[RefundTruth], None] = lambda _: None
    on_mail: Callable[[Mail], None] = lambda _: None
    on_change: Callable[[Reference], None] = lambda _: None
    """Hears which record has changed, whoever changed it."""

    _keys: dict[str, SavedKey] = field(default_factory=dict)

    # Reads.

    def charge(self, charge_id: str) -> Charge | None:
        """Return the charge."""
        if charge_id != CHARGE_ID:
            return None
        return _charge(self.refunded_minor, disputed=self.disputed)

    @property
    def refunded_minor(self) -> int:
        """Return what was paid back, or is on its way."""
        return sum(found.amount_minor for found in self.refunds if found.is_live)

    def refund_list(self, *, complete: bool) -> RefundList:
        """Return the refunds, newest first; an incomplete list lacks the newest."""
        found = self.refunds[::-1] if complete else self.refunds[:-1][::-1]
        return RefundList(tuple(_refund(refund) for refund in found), complete=complete)

    def subscription(self, subscription_id: str) -> Subscription | None:
        """Return the subscription."""
        renewal = self.renewals.get(subscription_id)
        if renewal is None:
            return None
        return _subscription(subscription_id, renewal)

    def customer(self, customer_id: str) -> Customer | None:
        """Return the customer."""
        if customer_id != CUSTOMER_ID:
            return None
        return _customer(self.email)

    # Writes.

    def write(self, site: str, params: Mapping[str, object], key: str, twist: Fault | None) -> None:
        """Let a request arrive and end; ``answer_of`` then gives its answer."""
        if self.begin(site, params, key):
            self.finish(site, params, key, twist)

    def begin(self, site: str, params: Mapping[str, object], key: str) -> bool:
        """Let a request arrive. Return whether it is the first under its key, and now runs."""
        now_ms = self.scheduler.now_ms
        self.keys_used.setdefault(_metadata(params).get(MARK, ""), set()).add(key)
        saved = self._keys.get(key)
        if saved is not None and now_ms - saved.first_used_at_ms < KEY_LIFETIME_MS:
            return False
        self._keys[key] = SavedKey(_request(site, params), now_ms)
        return True

    def finish(
        self, site: str, params: Mapping[str, object], key: str, twist: Fault | None
    ) -> None:
        """Carry a running request out, or not, and save its answer under its key."""
        saved = self._keys[key]
        match twist:
            case Fault.REFUSED:
                saved.answer = self._refuse(key, 402, "card_declined")
            case Fault.SAVED_500_NOT_DONE:
                saved.answer = ProviderFault(FaultKind.ANSWERED, 500, None)
            case Fault.SAVED_500_DONE:
                self._carry_out(site, params, key, twist)
                saved.answer = ProviderFault(FaultKind.ANSWERED, 500, None)
            case _:
                saved.answer = self._carry_out(site, params, key, twist)

    def answer_of(self, site: str, params: Mapping[str, object], key: str) -> Answer:
        """Return what the provider answers to a request that has arrived."""
        saved = self._keys[key]
        if saved.request != _request(site, params):
            return ProviderFault(FaultKind.ANSWERED, 400, "idempotency_error")
        if saved.answer is None:
            return ProviderFault(FaultKind.ANSWERED, 409, "idempotency_key_in_use")
        return saved.answer

    def accept_mail(self, to: str, text: str, tags: Mapping[str, str]) -> str:
        """Accept a mail. Return its id."""
        mail = Mail(f"mail-{len(self.mails) + 1}", to, text, dict(tags), self.scheduler.now_ms)
        self.mails.append(mail)
        self.on_mail(mail)
        return mail.message_id

    def pay_back(
        self, amount_minor: int, metadata: dict[str, str], twist: Fault | None
    ) -> RefundTruth:
        """Make a refund."""
        made = RefundTruth(
            record_id=f"re_{len(self.refunds) + 1}",
            amount_minor=amount_minor,
            status="succeeded",
            metadata=metadata,
            made_at_ms=self.scheduler.now_ms,
        )
        self.refunds.append(made)
        match twist:
            case Fault.PENDING_THEN_DONE | Fault.PENDING_THEN_FAILED:
                made.status = "pending"
                failed = twist is Fault.PENDING_THEN_FAILED
                self._later(made, "failed" if failed else "succeeded")
            case Fault.PENDING_FOR_EVER:
                made.status = "requires_action"
            case Fault.FAILS_LATER:
                self._later(made, "failed")
        self.on_refund(made)
        self.on_change(ABOUT_CHARGE)
        return made

    def turn(self, subscription_id: str, *, off: bool) -> None:
        """Let somebody switch a renewal off or on; whose mark it carries stays as it is."""
        self.renewals[subscription_id].off = off
        self.on_change(Reference(Kind.SUBSCRIPTION, subscription_id))

    def dispute(self) -> None:
        """Let the customer's bank dispute the charge."""
        self.disputed = True
        self.on_change(ABOUT_CHARGE)

    def by_hand(self, amount_minor: int) -> None:
        """Let a colleague do what seems to hang, without our mark."""
        self.turn(SUBSCRIPTION_IDS[0], off=True)
        if self.refunded_minor + amount_minor <= CHARGED_MINOR:
            self.pay_back(amount_minor, {}, None)

    def _later(self, made: RefundTruth, status: str) -> None:
        def change() -> None:
            made.status = status
            self.on_change(ABOUT_CHARGE)

        low, high = ENDS_AFTER_MS
        delay_ms = int(low * (high / low) ** self.rng.random())
        self.scheduler.at(self.scheduler.now_ms + delay_ms, change, outside=True)

    def _carry_out(
        self, site: str, params: Mapping[str, object], key: str, twist: Fault | None
    ) -> Answer:
        if site == "cancel":
            subscription_id = str(params["id"])
            renewal = Renewal(bool(params["cancel_at_period_end"]), _metadata(params))
            self.renewals[subscription_id] = renewal
            self.on_change(Reference(Kind.SUBSCRIPTION, subscription_id))
            return _subscription(subscription_id, renewal)
        amount_minor = params.get("amount", CHARGED_MINOR - self.refunded_minor)
        assert isinstance(amount_minor, int)
        if amount_minor > CHARGED_MINOR - self.refunded_minor:
            gone = self.refunded_minor == CHARGED_MINOR
            if gone:
                return ProviderFault(FaultKind.ANSWERED, 400, "charge_already_refunded")
            return self._refuse(key, 400, "amount_too_large")
        return _refund(self.pay_back(amount_minor, _metadata(params), twist))

    def _refuse(self, key: str, status: int, code: str) -> ProviderFault:
        self.refused_keys.add(key)
        return ProviderFault(FaultKind.ANSWERED, status, code)


@cache
def _charge(refunded_minor: int, *, disputed: bool) -> Charge:
    return Charge(
        id=CHARGE_ID,
        amount=CHARGED_MINOR,
        amount_refunded=refunded_minor,
        currency=CURRENCY,
        customer=CUSTOMER_ID,
        disputed=disputed,
        status="succeeded",
    )


@cache
def _customer(email: str) -> Customer:
    return Customer(id=CUSTOMER_ID, email=email, name="Zebra Lovelace-Marker")


def _subscription(subscription_id: str, renewal: Renewal) -> Subscription:
    return _shown_subscription(subscription_id, tuple(renewal.metadata.items()), off=renewal.off)


def _refund(found: RefundTruth) -> Refund:
    marks = tuple(found.metadata.items())
    return _shown_refund(found.record_id, found.amount_minor, found.status, marks)


@lru_cache(MAX_SHOWN)
def _shown_subscription(
    subscription_id: str, marks: tuple[tuple[str, str], ...], *, off: bool
) -> Subscription:
    return Subscription(
        id=subscription_id,
        customer=CUSTOMER_ID,
        status="active",
        cancel_at_period_end=off,
        metadata=dict(marks),
    )


@lru_cache(MAX_SHOWN)
def _shown_refund(
    record_id: str, amount_minor: int, status: str, marks: tuple[tuple[str, str], ...]
) -> Refund:
    return Refund(
        id=record_id,
        amount=amount_minor,
        charge=CHARGE_ID,
        currency=CURRENCY,
        status=status,
        metadata=dict(marks),
    )


def _metadata(params: Mapping[str, object]) -> dict[str, str]:
    metadata = params.get("metadata")
    assert isinstance(metadata, dict)
    return {str(name): str(value) for name, value in metadata.items()}


def _request(site: str, params: Mapping[str, object]) -> str:
    return json.dumps([site, dict(params)], sort_keys=True)
