"""A customer with one paid subscription, as the sandbox's Stripe holds it."""

from dataclasses import dataclass
from typing import Any

import stripe

from sandbox.stripe_server import API_KEY

# One month paid in advance; the sample refund of 79.00 USD is what is left of it.
CHARGE_AMOUNT_MINOR = 10_000
REFUND_AMOUNT_MINOR = 7_900
CURRENCY = "USD"
_PLAN_ID = "monthly-plan"
_TEST_CARD = {"number": "4242424242424242", "exp_month": 12, "exp_year": 2035, "cvc": "123"}


@dataclass(frozen=True)
class Subscriber:
    """Provider ids of one customer who has paid."""

    customer_id: str
    subscription_id: str
    charge_id: str


def stripe_client(url: str) -> stripe.StripeClient:
    """A client of the Stripe sandbox that never repeats a request by itself."""
    # It would leave an id in the home directory.
    stripe.enable_telemetry = False
    return stripe.StripeClient(API_KEY, base_addresses={"api": url}, max_network_retries=0)


def create_subscriber(client: stripe.StripeClient, email: str) -> Subscriber:
    """A new customer whose subscription has been charged CHARGE_AMOUNT_MINOR."""
    customer = client.v1.customers.create({"email": email, "name": "Sample Customer"})
    card: Any = {"type": "card", "card": _TEST_CARD}
    method = client.v1.payment_methods.create(card)
    client.v1.payment_methods.attach(method.id, {"customer": customer.id})
    default: Any = {"invoice_settings": {"default_payment_method": method.id}}
    client.v1.customers.update(customer.id, default)
    items: Any = {"customer": customer.id, "items": [{"plan": _plan(client)}]}
    subscription = client.v1.subscriptions.create(items)
    (charge,) = client.v1.charges.list({"customer": customer.id}).data
    return Subscriber(customer.id, subscription.id, charge.id)


def _plan(client: stripe.StripeClient) -> str:
    if any(plan.id == _PLAN_ID for plan in client.v1.plans.list().data):
        return _PLAN_ID
    plan: Any = {
        "id": _PLAN_ID,
        "amount": CHARGE_AMOUNT_MINOR,
        "currency": CURRENCY.lower(),
        "interval": "month",
        "product": {"name": "Monthly plan"},
    }
    return client.v1.plans.create(plan).id
