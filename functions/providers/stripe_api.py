"""The part of Stripe that the adapters need: typed records, and the calls that return them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from pydantic import BaseModel, ConfigDict

MARK = "effect_id"
"""The metadata member that ties a Stripe record to one effect of ours."""
RUN_MARK = "run_id"
"""The metadata member that says to which run that effect belongs."""


def is_our_metadata(value: object) -> bool:
    """Return whether ``value`` is metadata that ties a record to an effect, and nothing else."""
    return isinstance(value, Mapping) and value.keys() == {MARK, RUN_MARK}


class StripeRecord(BaseModel):
    """Named, typed fields of a Stripe object; what else the object holds is dropped unread."""

    model_config = ConfigDict(frozen=True, extra="ignore", strict=True)

    id: str


class Charge(StripeRecord):
    """A payment. Amounts are in minor units as Stripe counts them, the currency in lower case."""

    amount: int
    amount_captured: int | None = None
    amount_refunded: int
    currency: str
    customer: str | None
    disputed: bool = False
    status: str

    @property
    def refundable_minor(self) -> int:
        """Return how much of the charge can still be refunded."""
        captured = self.amount if self.amount_captured is None else self.amount_captured
        return captured - self.amount_refunded


class Refund(StripeRecord):
    """Money paid back, or on its way back, from a charge."""

    amount: int
    charge: str
    currency: str
    status: str | None
    metadata: dict[str, str] | None = None


class RecentRefund(StripeRecord):
    """What an audit reads of a refund: anybody in the account may have made it, of whatever kind.

    It may have no charge, for example, so nothing is asked of it but what tells whose it is.
    """

    status: str | None = None
    metadata: dict[str, str] | None = None


class Subscription(StripeRecord):
    """A subscription and whether it renews."""

    customer: str
    status: str
    cancel_at_period_end: bool
    cancel_at: int | None = None
    """When it ends, in seconds; set by whoever ends it on a date, and with the end of a period."""

    metadata: dict[str, str] | None = None


class Customer(StripeRecord):
    """A customer. A deleted one is still answered, as a stub."""

    email: str | None = None
    name: str | None = None
    deleted: bool = False


@dataclass(frozen=True)
class RefundList:
    """Refunds, newest first, and whether that is all of them that were asked for."""

    refunds: tuple[Refund, ...]
    complete: bool


@dataclass(frozen=True)
class RecentPage:
    """One page of the account's refunds, newest first, as far as they could be read."""

    refunds: tuple[RecentRefund, ...]
    unreadable: int
    """How many entries of the page are not among them."""

    complete: bool
    """Whether nothing follows behind the page."""


class StripeApi(Protocol):
    """Calls to Stripe. Each is one request, except ``refunds_of``; each raises ProviderFault."""

    def charge(self, charge_id: str) -> Charge | None:
        """Return the charge, None when there is none."""

    def subscription(self, subscription_id: str) -> Subscription | None:
        """Return the subscription, None when there is none."""

    def customer(self, customer_id: str) -> Customer | None:
        """Return the customer or its deleted stub, None when there never was one."""

    def refunds_of(self, charge_id: str) -> RefundList:
        """Return the charge's refunds, over a bounded number of pages."""

    def create_refund(self, params: Mapping[str, object], idempotency_key: str) -> Refund:
        """Return the refund made from exactly ``params``."""

    def update_subscription(
        self, subscription_id: str, params: Mapping[str, object], idempotency_key: str
    ) -> Subscription:
        """Return the subscription after exactly ``params`` were applied."""


class RecentRefunds(Protocol):
    """The account's refunds by time. One request each, which raises ProviderFault."""

    def refunds_since(self, since_seconds: int, after: str | None) -> RecentPage:
        """Return one page of the refunds made since then, behind the refund ``after``.

        An entry that cannot be read hides no other. A page that is not complete holds at least
        one refund.
        """
