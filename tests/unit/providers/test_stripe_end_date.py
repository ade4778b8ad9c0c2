"""A subscription that ends on a date, as the customer portal sets it with flexible billing."""

import pytest

from ledger.compare import Verdict, judge
from ledger.provider import RecordStatus
from tests.builders import an_effect
from tests.fakes.benches import EFFECT_ID, Bench, billing_bench, fake_stripe, library
from tests.fakes.clock import FakeClock
from tests.fakes.stripe import FakeStripe

_IDS = {"customer_id": "cus_1", "subscription_id": "sub_1"}
ENDS_AT_SECONDS = 1_900_000_000


@pytest.fixture
def fake() -> FakeStripe:
    """Stripe with a subscription that its customer has let end on a date."""
    fake = fake_stripe(FakeClock())
    fake.world.subscriptions["sub_1"].cancel_at = ENDS_AT_SECONDS
    return fake


def bench_of(fake: FakeStripe, cancel_at: str) -> Bench:
    """Return the adapter with a write that leaves the renewal so."""
    bench = billing_bench(library(fake), _IDS)
    bench.bound["cancel_at"] = cancel_at
    return bench


@pytest.mark.parametrize("cancel_at", ["period_end", "never"])
def test_given_an_end_on_a_date_when_authority_is_read_then_no_write_is_allowed(
    fake: FakeStripe, cancel_at: str
) -> None:
    bench = bench_of(fake, cancel_at)

    authority = bench.provider.authority(bench.bound, {})

    assert not authority.allowed
    assert authority.reason == "the renewal is already ending, on a date that was set for it"
    assert authority.snapshot["cancel_at"] == "on_a_date"


@pytest.mark.parametrize("cancel_at", ["period_end", "never"])
@pytest.mark.parametrize(
    ("mark", "verdict"), [(EFFECT_ID, Verdict.CONFLICT), ("", Verdict.ABSENT)], ids=["ours", "none"]
)
def test_given_an_end_on_a_date_when_looked_up_then_it_is_neither_writes_outcome(
    fake: FakeStripe, cancel_at: str, mark: str, verdict: Verdict
) -> None:
    fake.world.subscriptions["sub_1"].metadata["effect_id"] = mark
    bench = bench_of(fake, cancel_at)
    effect = an_effect(effect_id=EFFECT_ID, provider="stripe_billing", bound=bench.bound)

    found = bench.provider.look_up(bench.frozen_call())

    assert judge(effect, found).verdict is verdict


def test_given_an_end_on_a_date_after_it_was_on_again_when_read_then_it_is_not_on(
    fake: FakeStripe,
) -> None:
    fake.world.subscriptions["sub_1"].metadata["effect_id"] = EFFECT_ID
    bench = bench_of(fake, "never")

    (record,) = bench.provider.look_up(bench.frozen_call()).records

    assert record.status is RecordStatus.FAILED
    assert record.provider_status == "active, ends on_a_date"
    assert record.fields == bench.bound | {"cancel_at": "on_a_date"}


def test_given_the_date_of_the_periods_end_when_the_flag_is_set_too_then_it_is_the_period_that_ends(
    fake: FakeStripe,
) -> None:
    fake.world.switch_renewal("sub_1", on=False)
    bench = bench_of(fake, "period_end")

    assert bench.provider.authority(bench.bound, {}).reason == "the renewal is already off"


def test_given_a_subscription_that_is_over_when_a_date_was_set_then_it_is_said_to_be_over(
    fake: FakeStripe,
) -> None:
    fake.world.subscriptions["sub_1"].status = "canceled"
    bench = bench_of(fake, "never")

    authority = bench.provider.authority(bench.bound, {})

    assert authority.reason == "the subscription is canceled"
    assert authority.snapshot["cancel_at"] == "at_once"
