"""What a Stripe account holds, and what others do to it behind our back."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ledger.ports import Clock

# Decimals in Stripe's minor units; three-decimal amounts must end in 0.
EXPONENTS: Mapping[str, int] = {"usd": 2, "eur": 2, "jpy": 0, "bhd": 3}
_WITHOUT_EFFECT = frozenset({"failed", "canceled"})

StatusScript = tuple[tuple[float, str], ...]
"""Seconds after the refund was made, and the status from then on."""

SUCCEEDED: StatusScript = ((0, "succeeded"),)


@dataclass
class Customer:
    """A customer; ``deleted`` leaves a stub."""

    id: str
    email: str | None
    name: str | None = "Sample Customer"
    deleted: bool = False

    def export(self) -> dict[str, Any]:
        """Return the object as the API shows it."""
        if self.deleted:
            return {"id": self.id, "object": "customer", "deleted": True}
        return {"id": self.id, "object": "customer", "email": self.email, "name": self.name}


@dataclass
class Subscription:
    """A subscription that renews until told otherwise."""

    id: str
    customer: str
    status: str = "active"
    cancel_at_period_end: bool = False
    cancel_at: int | None = None
    metadata: dict[str, str] = field(default_factory=dict)

    def export(self) -> dict[str, Any]:
        """Return the object as the API shows it."""
        return {"object": "subscription", **vars(self), "metadata": dict(self.metadata)}


@dataclass
class Refund:
    """A refund whose status follows a script over time."""

    id: str
    charge: str
    amount: int
    currency: str
    metadata: dict[str, str]
    reason: str | None
    created_ms: int
    script: StatusScript

    def status(self, now_ms: int) -> str:
        """Return the status that the script has reached."""
        reached = [word for after, word in self.script if self.created_ms + after * 1000 <= now_ms]
        return reached[-1]


@dataclass
class Charge:
    """A captured payment."""

    id: str
    customer: str
    amount: int
    currency: str
    created_ms: int
    disputed: bool = False
    status: str = "succeeded"


class StripeWorld:
    """Objects, and the moves that come from outside our API key."""

    def __init__(self, clock: Clock) -> None:
        """Start with no objects."""
        self.clock = clock
        self.customers: dict[str, Customer] = {}
        self.subscriptions: dict[str, Subscription] = {}
        self.charges: dict[str, Charge] = {}
        self.refunds: list[Refund] = []
        self.next_refund_script = SUCCEEDED

    def add_customer(self, customer_id: str, email: str | None) -> None:
        """Add a customer."""
        self.customers[customer_id] = Customer(customer_id, email)

    def add_subscription(self, subscription_id: str, customer_id: str) -> None:
        """Add a subscription whose renewal is on."""
        self.subscriptions[subscription_id] = Subscription(subscription_id, customer_id)

    def add_charge(
        self, charge_id: str, customer_id: str, amount_minor: int, currency: str = "usd"
    ) -> None:
        """Add a paid charge."""
        self.charges[charge_id] = Charge(
            charge_id, customer_id, amount_minor, currency, self.clock.now_ms()
        )

    def make_refund(
        self,
        charge_id: str,
        amount_minor: int,
        metadata: Mapping[str, str] | None = None,
        reason: str | None = None,
    ) -> Refund:
        """Add a refund and return it; without metadata it is one made at the dashboard."""
        made = Refund(
            id=f"re_{len(self.refunds) + 1}",
            charge=charge_id,
            amount=amount_minor,
            currency=self.charges[charge_id].currency,
            metadata=dict(metadata or {}),
            reason=reason,
            created_ms=self.clock.now_ms(),
            script=self.next_refund_script,
        )
        self.next_refund_script = SUCCEEDED
        self.refunds.append(made)
        return made

    def open_dispute(self, charge_id: str) -> None:
        """Let the customer's bank dispute the charge."""
        self.charges[charge_id].disputed = True

    def switch_renewal(self, subscription_id: str, *, on: bool) -> None:
        """Switch the renewal at the dashboard; our metadata stays where it was."""
        self.subscriptions[subscription_id].cancel_at_period_end = not on

    def refunds_marked(self, effect_id: str) -> list[Refund]:
        """Return the refunds that carry an effect's mark, whatever their status."""
        return [made for made in self.refunds if made.metadata.get("effect_id") == effect_id]

    def refunded_minor(self, charge_id: str) -> int:
        """Return what has been paid back of a charge, or is about to be."""
        now_ms = self.clock.now_ms()
        return sum(
            made.amount
            for made in self.refunds
            if made.charge == charge_id and made.status(now_ms) not in _WITHOUT_EFFECT
        )

    def export_charge(self, charge: Charge) -> dict[str, Any]:
        """Return a charge as the API shows it."""
        return {
            "id": charge.id,
            "object": "charge",
            "amount": charge.amount,
            "amount_captured": charge.amount,
            "amount_refunded": self.refunded_minor(charge.id),
            "currency": charge.currency,
            "customer": charge.customer,
            "disputed": charge.disputed,
            "status": charge.status,
        }

    def export_refund(self, made: Refund) -> dict[str, Any]:
        """Return a refund as the API shows it."""
        return {
            "id": made.id,
            "object": "refund",
            "amount": made.amount,
            "charge": made.charge,
            "created": made.created_ms // 1000,
            "currency": made.currency,
            "metadata": dict(made.metadata),
            "reason": made.reason,
            "status": made.status(self.clock.now_ms()),
        }
