"""Renewals: who may end one, and whether an ended one was ended by us."""

from collections.abc import Callable

import pytest

from ledger.errors import InvariantBroken
from ledger.provider import ProviderFault, RecordStatus
from ledger.record import Scalar
from tests.fakes.benches import EFFECT_ID, EMAIL, RUN_ID, Bench, fake_stripe, library
from tests.fakes.benches import billing_bench as bench_of
from tests.fakes.clock import FakeClock
from tests.fakes.stripe import FakeStripe
from tests.fakes.stripe_world import StripeWorld

_IDS = {"customer_id": "cus_1", "subscription_id": "sub_1"}


@pytest.fixture
def fake() -> FakeStripe:
    return fake_stripe(FakeClock())


@pytest.fixture
def bench(fake: FakeStripe) -> Bench:
    return bench_of(library(fake), _IDS)


@pytest.mark.parametrize(
    ("happened", "bound", "reason"),
    [
        (lambda _: None, {"subscription_id": "sub_9"}, "the subscription does not exist"),
        (lambda _: None, {"customer_id": "cus_2"}, "the subscription belongs to another customer"),
        (
            lambda world: setattr(world.subscriptions["sub_1"], "status", "canceled"),
            {},
            "the subscription is canceled",
        ),
        (
            lambda world: world.switch_renewal("sub_1", on=False),
            {},
            "the renewal is already off",
        ),
    ],
)
def test_an_end_that_the_subscription_does_not_allow_is_refused_with_its_reason(
    fake: FakeStripe,
    bench: Bench,
    happened: Callable[[StripeWorld], object],
    bound: dict[str, Scalar],
    reason: str,
) -> None:
    happened(fake.world)

    authority = bench.provider.authority(bench.bound | bound, {})

    assert not authority.allowed
    assert authority.reason == reason
    assert EMAIL not in str(authority)


@pytest.mark.parametrize("status", ["active", "trialing", "past_due"])
def test_a_subscription_that_would_renew_can_be_ended(
    fake: FakeStripe, bench: Bench, status: str
) -> None:
    fake.world.subscriptions["sub_1"].status = status

    assert bench.provider.authority(bench.bound, {}).allowed


def test_the_write_ends_the_renewal_and_leaves_the_paid_period(
    fake: FakeStripe, bench: Bench
) -> None:
    bench.provider.call(bench.frozen_call())

    (seen,) = fake.posts()
    assert seen.path == "/v1/subscriptions/sub_1"
    assert (
        seen.body
        == (
            f"cancel_at_period_end=true&metadata[effect_id]={EFFECT_ID}&metadata[run_id]={RUN_ID}"
        ).encode()
    )
    assert fake.world.subscriptions["sub_1"].status == "active"


def test_an_id_cannot_reach_another_endpoint(fake: FakeStripe) -> None:
    bench = bench_of(library(fake), {"customer_id": "cus_1", "subscription_id": "../refunds"})

    assert not bench.provider.authority(bench.bound, {}).allowed
    assert [seen.path for seen in fake.requests] == ["/v1/subscriptions/..%2Frefunds"]


def test_only_the_end_at_the_periods_end_can_be_composed(bench: Bench) -> None:
    bench.bound["cancel_at"] = "at_once"

    with pytest.raises(InvariantBroken):
        bench.provider.compose(bench.intent())


def test_a_renewal_ended_at_the_dashboard_is_found_without_our_mark(
    fake: FakeStripe, bench: Bench
) -> None:
    fake.world.switch_renewal("sub_1", on=False)

    (record,) = bench.provider.look_up(bench.frozen_call()).records

    assert record.mark is None
    assert record.fields == bench.bound


def test_a_subscription_cancelled_at_once_differs_from_what_was_approved(
    fake: FakeStripe, bench: Bench
) -> None:
    fake.world.subscriptions["sub_1"].status = "canceled"

    (record,) = bench.provider.look_up(bench.frozen_call()).records

    assert record.fields == bench.bound | {"cancel_at": "at_once"}


def test_a_period_that_has_ended_since_is_still_what_was_approved(
    fake: FakeStripe, bench: Bench
) -> None:
    bench.provider.call(bench.frozen_call())
    fake.world.subscriptions["sub_1"].status = "canceled"

    (record,) = bench.provider.look_up(bench.frozen_call()).records

    assert (record.mark, record.status) == (EFFECT_ID, RecordStatus.DONE)
    assert record.fields == bench.bound


def test_a_renewal_switched_on_again_after_our_write_is_not_absence(
    fake: FakeStripe, bench: Bench
) -> None:
    bench.provider.call(bench.frozen_call())
    fake.world.switch_renewal("sub_1", on=True)

    (record,) = bench.provider.look_up(bench.frozen_call()).records

    assert (record.mark, record.status) == (EFFECT_ID, RecordStatus.FAILED)
    assert record.fields == bench.bound | {"cancel_at": "never"}


def test_a_renewal_that_is_on_with_an_older_effects_mark_is_absence(
    fake: FakeStripe, bench: Bench
) -> None:
    bench.provider.call(bench.frozen_call(effect_id="eff_older", key="key_older"))
    fake.world.switch_renewal("sub_1", on=True)

    found = bench.provider.look_up(bench.frozen_call())

    assert (found.records, found.complete) == ((), True)


def test_an_account_that_does_not_know_the_subscription_proves_no_absence(
    fake: FakeStripe, bench: Bench
) -> None:
    del fake.world.subscriptions["sub_1"]

    with pytest.raises(ProviderFault):
        bench.provider.look_up(bench.frozen_call())
