"""Customers' personal fields, read from Stripe at the moment they are needed."""

from typing import override

from ledger.provider import Contact, CustomerDirectory
from providers.stripe_api import StripeApi


class StripeCustomers(CustomerDirectory):
    """Stripe owns the customer's name and address here."""

    def __init__(self, stripe: StripeApi) -> None:
        """Call Stripe through ``stripe``."""
        self._stripe = stripe

    @override
    def contact(self, customer_id: str) -> Contact | None:
        """Return the contact; None for no customer, a deleted one, or one without an address."""
        customer = self._stripe.customer(customer_id)
        if customer is None or customer.deleted or not customer.email:
            return None
        return Contact(email=customer.email, name=customer.name or "")
