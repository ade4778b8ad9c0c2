"""One provider adapter each, wired to a world in which its write is allowed."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
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
SENDER = "shop@example.com"


class Guard(StrEnum):
    """What keeps a repeated call from making its write twice."""

    KEY = "key"  # the provider knows the key, and answers as it did at first
    OBJECT = "object"  # the write makes one object under our own name, while there is none
    NOTHING = "nothing"  # the provider makes it again: the engine has to know better


@dataclass
class Bench:
    """An adapter and the write it is asked for. What a bench cannot do is None."""

    provider: Provider
    operation: str
    bound: dict[str, Scalar]
    personal: dict[str, str] = field(default_factory=dict)
    guard: Guard = Guard.KEY
    shown_mark: str | None = EFFECT_ID
    """The mark that records carry; None at a server that forgets it."""

    held: Callable[[], list[str]] = list
    """The ids of what the provider holds of such writes, read past the adapter."""

    lose_next_answer: Callable[[], None] | None = None
    """Let the next write be carried out without an answer."""

    pass_seconds: Callable[[int], None] | None = None
    """Let the provider's clock go on."""

    take_back: Callable[[], None] | None = None
    """Let somebody undo the write at the provider."""

    change_target: Callable[[], None] | None = None
    """Change what the write is made of, so that the same call comes to other bytes."""

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
    charge_id = subscriber["charge_id"]
    return Bench(
        StripeRefunds(api),
        "refund",
        {
            "customer_id": subscriber["customer_id"],
            "charge_id": charge_id,
            "amount_minor": 7_900,
            "currency": "USD",
        },
        held=lambda: [refund.id for refund in api.refunds_of(charge_id).refunds],
    )


def billing_bench(api: StripeApi, subscriber: Mapping[str, str]) -> Bench:
    """Return the end of a renewal."""
    subscription_id = subscriber["subscription_id"]

    def held() -> list[str]:
        found = api.subscription(subscription_id)
        return [found.id] if found is not None and found.cancel_at_period_end else []

    return Bench(
        StripeBilling(api),
        "cancel_renewal",
        {
            "customer_id": subscriber["customer_id"],
            "subscription_id": subscription_id,
            "cancel_at": "period_end",
        },
        held=held,
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
    clock = FakeClock()
    fake = fake_stripe(clock)
    ids = {"customer_id": "cus_1", "subscription_id": "sub_1", "charge_id": "ch_1"}
    bench = make(library(fake), ids)
    bench.lose_next_answer = lambda: fake.fail_next(Fault.COMMIT_THEN_DROP)
    bench.pass_seconds = lambda seconds: clock.pass_ms(seconds * 1000)
    bench.take_back = lambda: fake.world.switch_renewal("sub_1", on=True)
    return bench


def receipt_bench(mailer: SesMailer, stripe: StripeApi, customer_id: str) -> Bench:
    """Return the receipt of a refund of USD 79.00."""
    bound: dict[str, Scalar] = {
        "customer_id": customer_id,
        "refund_id": "re_1",
        "amount_minor": 7_900,
        "currency": "USD",
    }
    provider = SesMail(mailer, StripeCustomers(stripe))
    return Bench(provider, "receipt", bound, {"email": EMAIL}, Guard.NOTHING)


def _receipt_bench() -> Bench:
    clock = FakeClock()
    ses = FakeSes(clock)
    mailer = SesMailer(cast("Any", ses), SENDER, "receipts")
    bench = receipt_bench(mailer, library(fake_stripe(clock)), "cus_1")
    bench.held = lambda: [mail.message_id for mail in ses.sent]
    bench.lose_next_answer = lambda: ses.fail_next(MailFault.ACCEPT_THEN_DROP)
    return bench
