"""One provider adapter each, wired to a world in which its write is allowed."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from ledger.effect import FrozenRequest
from ledger.provider import Intent, Provider, ProviderCall
from ledger.record import Scalar
from providers.ses_client import SesMailer
from providers.ses_mail import SesMail
from providers.stripe_api import StripeApi
from providers.stripe_billing import StripeBilling
from providers.stripe_client import StripeLibrary
from providers.stripe_customers import StripeCustomers
from providers.stripe_refunds import StripeRefunds
from tests.fakes.clock import FakeClock
from tests.fakes.ses import FakeSes, MailFault
from tests.fakes.stripe import FakeStripe, Fault

EMAIL = "pat.sample@example.com"
RUN_ID = "run_k2v7"
EFFECT_ID = "eff_q4x9"
KEY = "key_m3t8"


@dataclass
class Bench:
    """An adapter and the write it is asked for. ``lose_next_answer`` is there where faults are."""

    provider: Provider
    operation: str
    bound: dict[str, Scalar]
    personal: dict[str, str] = field(default_factory=dict)
    lose_next_answer: Callable[[], None] | None = None

    def intent(self, effect_id: str = EFFECT_ID) -> Intent:
        """Return the write in our own terms."""
        return Intent(
            run_id=RUN_ID, effect_id=effect_id, operation=self.operation, bound=self.bound
        )

    def frozen_call(self, effect_id: str = EFFECT_ID, key: str = KEY) -> ProviderCall:
        """Return the call as the engine makes it: from the frozen bytes."""
        frozen = FrozenRequest.create(self.provider.compose(self.intent(effect_id)))
        return ProviderCall(
            run_id=RUN_ID,
            effect_id=effect_id,
            idempotency_key=key,
            bound=self.bound,
            params=frozen.params(),
            personal=self.personal,
        )


def fake_stripe(clock: FakeClock) -> FakeStripe:
    """Return a Stripe with one customer, one renewing subscription, one charge of USD 100.00."""
    fake = FakeStripe(clock)
    fake.world.add_customer("cus_1", EMAIL)
    fake.world.add_subscription("sub_1", "cus_1")
    fake.world.add_charge("ch_1", "cus_1", 10_000)
    return fake


def library(fake: FakeStripe) -> StripeLibrary:
    """Return the real adapter's library over the fake, in place of a socket."""
    return StripeLibrary("sk_test_fake", "https://api.stripe.com", fake)


def refund_bench(api: StripeApi, subscriber: Mapping[str, str]) -> Bench:
    """Return the refund of USD 79.00 of a charge."""
    return Bench(
        StripeRefunds(api),
        "refund",
        {
            "customer_id": subscriber["customer_id"],
            "charge_id": subscriber["charge_id"],
            "amount_minor": 7_900,
            "currency": "USD",
        },
    )


def billing_bench(api: StripeApi, subscriber: Mapping[str, str]) -> Bench:
    """Return the end of a renewal."""
    return Bench(
        StripeBilling(api),
        "cancel_renewal",
        {
            "customer_id": subscriber["customer_id"],
            "subscription_id": subscriber["subscription_id"],
            "cancel_at": "period_end",
        },
    )


def fake_bench(kind: str) -> Bench:
    """Return the bench for one operation of a shipped provider, over fakes. Raises KeyError."""
    # These two are made of what is here.
    from tests.fakes.archive_bench import archive_world
    from tests.fakes.link_bench import link_world

    makers: Mapping[str, Callable[[], Bench]] = {
        "refund": lambda: _over_fake_stripe(refund_bench),
        "cancel_renewal": lambda: _over_fake_stripe(billing_bench),
        "receipt": _receipt_bench,
        "deliver_link": lambda: link_world().bench,
        "archive": lambda: archive_world().bench,
    }
    return makers[kind]()


def _over_fake_stripe(make: Callable[[StripeApi, Mapping[str, str]], Bench]) -> Bench:
    fake = fake_stripe(FakeClock())
    ids = {"customer_id": "cus_1", "subscription_id": "sub_1", "charge_id": "ch_1"}
    bench = make(library(fake), ids)
    bench.lose_next_answer = lambda: fake.fail_next(Fault.COMMIT_THEN_DROP)
    return bench


def _receipt_bench() -> Bench:
    clock = FakeClock()
    ses = FakeSes(clock)
    bound: dict[str, Scalar] = {
        "customer_id": "cus_1",
        "refund_id": "re_1",
        "amount_minor": 7_900,
        "currency": "USD",
    }
    mailer = SesMailer(cast("Any", ses), "shop@example.com", "receipts")
    return Bench(
        SesMail(mailer, StripeCustomers(library(fake_stripe(clock)))),
        "receipt",
        bound,
        {"email": EMAIL},
        lambda: ses.fail_next(MailFault.ACCEPT_THEN_DROP),
    )
