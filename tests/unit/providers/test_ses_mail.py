"""Receipts: what they quote, to whom they go, and that none goes twice by itself."""

from typing import Any, cast

import pytest

from ledger.contract import FaultKind
from ledger.errors import InvariantBroken
from ledger.provider import ProviderFault
from ledger.record import Scalar
from providers.ses_client import SES_CONFIG, SesMailer
from providers.ses_kind import CALL_TIMEOUT_SECONDS
from providers.ses_mail import SesMail
from providers.stripe_customers import StripeCustomers
from tests.fakes.benches import EFFECT_ID, EMAIL, RUN_ID, Bench, fake_stripe, library
from tests.fakes.clock import FakeClock
from tests.fakes.ses import FakeSes, MailFault
from tests.fakes.stripe import FakeStripe, Fault

_BOUND: dict[str, Scalar] = {
    "customer_id": "cus_1",
    "refund_id": "re_1",
    "amount_minor": 7_900,
    "currency": "USD",
}


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def stripe(clock: FakeClock) -> FakeStripe:
    return fake_stripe(clock)


@pytest.fixture
def ses(clock: FakeClock) -> FakeSes:
    return FakeSes(clock)


@pytest.fixture
def bench(stripe: FakeStripe, ses: FakeSes) -> Bench:
    mailer = SesMailer(cast("Any", ses), "shop@example.com", "receipts")
    provider = SesMail(mailer, StripeCustomers(library(stripe)))
    return Bench(provider, "receipt", dict(_BOUND), {"email": EMAIL})


def test_the_mail_quotes_refund_and_amount_and_goes_to_the_customer_with_our_tags(
    ses: FakeSes, bench: Bench
) -> None:
    record = bench.provider.call(bench.frozen_call())

    (mail,) = ses.sent
    assert mail.message_id == record.record_id
    assert mail.to == EMAIL
    assert "USD 79.00" in mail.subject
    assert "USD 79.00" in mail.text
    assert "re_1" in mail.text
    assert mail.tags == {"effect_id": EFFECT_ID, "run_id": RUN_ID}


@pytest.mark.parametrize(
    ("amount_minor", "currency"),
    [(7_900, "USD"), (5, "USD"), (7_900, "JPY"), (1_230, "BHD"), (123_456_789, "EUR")],
)
def test_what_the_text_quotes_is_read_back_to_the_minor_unit(
    bench: Bench, amount_minor: int, currency: str
) -> None:
    bench.bound |= {"amount_minor": amount_minor, "currency": currency}

    consequence = bench.provider.consequence(bench.provider.compose(bench.intent()))

    assert consequence == {
        "refund_id": "re_1",
        "amount_minor": amount_minor,
        "currency": currency,
    }


def test_a_customer_with_the_recorded_address_may_be_written_to(bench: Bench) -> None:
    assert bench.provider.authority(bench.bound, bench.personal).allowed


def test_a_changed_address_stops_the_mail_and_is_not_quoted(
    stripe: FakeStripe, bench: Bench
) -> None:
    stripe.world.customers["cus_1"].email = "other@example.com"

    authority = bench.provider.authority(bench.bound, bench.personal)

    assert not authority.allowed
    assert authority.snapshot["address_unchanged"] is False
    assert "@" not in str(authority)


@pytest.mark.parametrize("change", [{"deleted": True}, {"email": None}])
def test_a_customer_who_is_gone_or_has_no_address_is_not_written_to(
    stripe: FakeStripe, bench: Bench, change: dict[str, Any]
) -> None:
    vars(stripe.world.customers["cus_1"]).update(change)

    authority = bench.provider.authority(bench.bound, bench.personal)

    assert not authority.allowed
    assert authority.snapshot["found"] is False


def test_a_directory_that_does_not_answer_is_a_fault_and_no_permission(
    stripe: FakeStripe, bench: Bench
) -> None:
    stripe.fail_next(Fault.UNAVAILABLE, "GET", "/v1/customers")

    with pytest.raises(ProviderFault):
        bench.provider.authority(bench.bound, bench.personal)


def test_a_lost_answer_is_tried_once_and_found_only_by_its_tag_in_the_event_feed(
    ses: FakeSes, clock: FakeClock, bench: Bench
) -> None:
    ses.events_after_seconds = 60
    ses.fail_next(MailFault.ACCEPT_THEN_DROP)

    with pytest.raises(ProviderFault) as caught:
        bench.provider.call(bench.frozen_call())

    assert caught.value.kind is FaultKind.NO_ANSWER
    assert ses.sends_tried == 1
    assert ses.events("effect_id", EFFECT_ID) == []
    clock.pass_ms(60 * 1000)
    assert [mail.message_id for mail in ses.events("effect_id", EFFECT_ID)] == ["message-1"]


@pytest.mark.parametrize("fault", [MailFault.REJECT, MailFault.THROTTLE, MailFault.NEVER_SENT])
def test_a_mail_that_was_not_accepted_was_not_sent(
    ses: FakeSes, bench: Bench, fault: MailFault
) -> None:
    ses.fail_next(fault)

    with pytest.raises(ProviderFault):
        bench.provider.call(bench.frozen_call())

    assert ses.sent == []


def test_parameters_without_a_text_are_not_sent(ses: FakeSes, bench: Bench) -> None:
    call = bench.frozen_call().model_copy(update={"params": {"subject": "Hello"}})

    with pytest.raises(InvariantBroken):
        bench.provider.call(call)

    assert ses.sends_tried == 0


def test_boto3_is_told_to_send_once_and_within_the_contracts_time() -> None:
    config = cast("Any", SES_CONFIG)

    assert config.retries["total_max_attempts"] == 1
    assert config.connect_timeout + config.read_timeout == CALL_TIMEOUT_SECONDS
