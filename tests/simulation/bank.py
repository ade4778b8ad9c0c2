"""Stripe's own truth: what it holds, and which keys it knows.

Idempotency keys behave as Stripe documents them: the first request under a key decides; a repeat
gets its saved answer, a 500 included; the same key with other parameters, or while the first
request still runs, is refused; after 24 hours the key is forgotten.
"""

import json
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from ledger.contract import FaultKind
from ledger.provider import ProviderFault
from providers.stripe_api import MARK, Charge, Refund, RefundList, Subscription
from providers.stripe_notice import Kind, Reference
from tests.simulation.dice import Dice
from tests.simulation.faults import Fault
from tests.simulation.outside import CUSTOMER_ID, Outside

if TYPE_CHECKING:
    from tests.simulation.world import World

CHARGE_ID = "ch_1"
SUBSCRIPTION_IDS = ("sub_1", "sub_2")
CURRENCY = "usd"
CHARGED_MINOR = 10_000
KEY_LIFETIME_MS = 24 * 3_600_000
ABOUT_CHARGE = Reference(Kind.CHARGE, CHARGE_ID)
LIVE_STATUSES = frozenset({"succeeded", "pending", "requires_action"})
# When a pending refund ends, or one that succeeded fails after all.
ENDS_AFTER_MS = (10_000, 5 * 24 * 3_600_000)

MAX_SHOWN = 1_000  # records as they are shown, which are frozen


class BankFault(StrEnum):
    """What may go wrong at Stripe beside what may at any provider, and what others do there."""

    COLLEAGUE_FASTER = "write lost on its way, and a colleague does it by hand"
    PENDING_THEN_DONE = "refund pending, succeeds later"
    PENDING_THEN_FAILED = "refund pending, fails later"
    PENDING_FOR_EVER = "refund pending for ever"
    FAILS_LATER = "refund succeeded, fails later"
    PROVIDER_NOTICE_LOST = "provider's notice lost"
    PROVIDER_NOTICE_TWICE = "provider's notice twice"
    PROVIDER_NOTICE_LATE = "provider's notice late"
    PROVIDER_NOTICE_OVERTAKEN = "provider's notice after a newer one"
    DASHBOARD_EQUAL = "equal refund by a colleague, without our mark"
    DASHBOARD_PARTIAL = "other refund by a colleague"
    RENEWAL_OFF = "renewal switched off by a colleague"
    RENEWAL_ON = "renewal switched on again"
    DISPUTED = "charge disputed"


type Answer = Refund | Subscription | ProviderFault


@dataclass
class RefundTruth:
    """One refund as the provider holds it."""

    record_id: str
    amount_minor: int
    status: str
    metadata: dict[str, str]

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


@dataclass
class SavedKey:
    """What the provider remembers of the first request under a key; no answer while it runs."""

    request: str
    first_used_at_ms: int
    answer: Answer | None = None


class Bank(Outside):
    """Stripe for one customer: one charge, two subscriptions."""

    def __init__(self, world: "World") -> None:
        """Start with a charge of which nothing was paid back, and renewals that are on."""
        super().__init__(world)
        self.scheduler = world.scheduler
        self.rng = Dice(world.seed, "bank")
        self.refunds: list[RefundTruth] = []
        self.renewals = {name: Renewal() for name in SUBSCRIPTION_IDS}
        self.disputed = False
        self.on_change: Callable[[Reference], None] = lambda _: None
        """Hears which record has changed, whoever changed it."""

        self._keys: dict[str, SavedKey] = {}

    @abstractmethod
    def refund_made(self, made: RefundTruth) -> None:
        """Hear of a refund that was just made. Raises Violation."""

    @abstractmethod
    def by_hand(self) -> None:
        """Let a colleague do what seems to hang, without our mark."""

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

    # Writes.

    def write(
        self, site: str, params: Mapping[str, object], key: str, twist: StrEnum | None
    ) -> None:
        """Let a request arrive and end; ``answer_of`` then gives its answer."""
        if self.begin(site, params, key):
            self.finish(site, params, key, twist)

    def begin(self, site: str, params: Mapping[str, object], key: str) -> bool:
        """Let a request arrive. Return whether it is the first under its key, and now runs."""
        now_ms = self.scheduler.now_ms
        saved = self._keys.get(key)
        if saved is not None and now_ms - saved.first_used_at_ms < KEY_LIFETIME_MS:
            return False
        self._keys[key] = SavedKey(_request(site, params), now_ms)
        return True

    def finish(
        self, site: str, params: Mapping[str, object], key: str, twist: StrEnum | None
    ) -> None:
        """Carry a running request out, or not, and save its answer under its key."""
        saved = self._keys[key]
        match twist:
            case Fault.REFUSED:
                saved.answer = ProviderFault(FaultKind.ANSWERED, 402, "card_declined")
            case Fault.SAVED_500_NOT_DONE:
                saved.answer = ProviderFault(FaultKind.ANSWERED, 500, None)
            case Fault.SAVED_500_DONE:
                self._carry_out(site, params, twist)
                saved.answer = ProviderFault(FaultKind.ANSWERED, 500, None)
            case _:
                saved.answer = self._carry_out(site, params, twist)

    def answer_of(self, site: str, params: Mapping[str, object], key: str) -> Answer:
        """Return what the provider answers to a request that has arrived."""
        saved = self._keys[key]
        if saved.request != _request(site, params):
            return ProviderFault(FaultKind.ANSWERED, 400, "idempotency_error")
        if saved.answer is None:
            return ProviderFault(FaultKind.ANSWERED, 409, "idempotency_key_in_use")
        return saved.answer

    def pay_back(
        self, amount_minor: int, metadata: dict[str, str], twist: StrEnum | None
    ) -> RefundTruth:
        """Make a refund."""
        made = RefundTruth(
            record_id=f"re_{len(self.refunds) + 1}",
            amount_minor=amount_minor,
            status="succeeded",
            metadata=metadata,
        )
        self.refunds.append(made)
        match twist:
            case BankFault.PENDING_THEN_DONE | BankFault.PENDING_THEN_FAILED:
                made.status = "pending"
                failed = twist is BankFault.PENDING_THEN_FAILED
                self._later(made, "failed" if failed else "succeeded")
            case BankFault.PENDING_FOR_EVER:
                made.status = "requires_action"
            case BankFault.FAILS_LATER:
                self._later(made, "failed")
        self.refund_made(made)
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

    def _later(self, made: RefundTruth, status: str) -> None:
        def change() -> None:
            made.status = status
            self.on_change(ABOUT_CHARGE)

        low, high = ENDS_AFTER_MS
        delay_ms = int(low * (high / low) ** self.rng.random())
        self.scheduler.at(self.scheduler.now_ms + delay_ms, change, outside=True)

    def _carry_out(self, site: str, params: Mapping[str, object], twist: StrEnum | None) -> Answer:
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
            return ProviderFault(FaultKind.ANSWERED, 400, "amount_too_large")
        return _refund(self.pay_back(amount_minor, _metadata(params), twist))


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
