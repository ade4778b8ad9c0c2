"""A renewal that is switched on again: when it may be, what is sent, and how it is found again."""

from collections.abc import Callable

import pytest

from ledger.compare import Verdict, judge
from ledger.contract import FaultKind
from ledger.effect import Effect
from ledger.provider import ProviderFault, RecordStatus
from tests.builders import an_effect
from tests.fakes.benches import EFFECT_ID, RUN_ID, Bench, billing_bench, fake_stripe, library
from tests.fakes.clock import FakeClock
from tests.fakes.stripe import FakeStripe
from tests.fakes.stripe_world import StripeWorld

_IDS = {"customer_id": "cus_1", "subscription_id": "sub_1"}


@pytest.fixture
def fake() -> FakeStripe:
    """Stripe with a subscription whose renewal is off."""
    fake = fake_stripe(FakeClock())
    fake.world.switch_renewal("sub_1", on=False)
    return fake


@pytest.fixture
def bench(fake: FakeStripe) -> Bench:
    """The adapter, with a write that switches the renewal on again."""
    bench = billing_bench(library(fake), _IDS)
    bench.bound["cancel_at"] = "never"
    return bench


def an_effect_of(bench: Bench) -> Effect:
    return an_effect(effect_id=EFFECT_ID, provider="stripe_billing", bound=bench.bound)


def test_what_is_composed_does_what_is_bound_and_nothing_else(bench: Bench) -> None:
    params = bench.provider.compose(bench.intent())

    assert params["cancel_at_period_end"] is False
    assert bench.provider.consequence(params) == {"subscription_id": "sub_1", "cancel_at": "never"}


def test_the_write_switches_the_renewal_on_under_our_mark(fake: FakeStripe, bench: Bench) -> None:
    record = bench.provider.call(bench.frozen_call())

    (seen,) = fake.posts()
    assert (
        seen.body
        == (
            f"cancel_at_period_end=false&metadata[effect_id]={EFFECT_ID}&metadata[run_id]={RUN_ID}"
        ).encode()
    )
    assert (record.mark, record.status) == (EFFECT_ID, RecordStatus.DONE)
    assert record.fields == bench.bound
    assert not fake.world.subscriptions["sub_1"].cancel_at_period_end


def test_it_is_found_again_by_our_mark_and_matches(bench: Bench) -> None:
    bench.provider.call(bench.frozen_call())

    judged = judge(an_effect_of(bench), bench.provider.look_up(bench.frozen_call()))

    assert judged.verdict is Verdict.MATCH


def test_a_renewal_that_is_still_off_is_absence(bench: Bench) -> None:
    judged = judge(an_effect_of(bench), bench.provider.look_up(bench.frozen_call()))

    assert judged.verdict is Verdict.ABSENT


def test_a_renewal_that_our_own_end_of_it_has_marked_is_absence(
    fake: FakeStripe, bench: Bench
) -> None:
    # The effect that is to be taken back has left its own mark.
    ending = billing_bench(library(fake), _IDS)
    ending.provider.call(ending.frozen_call(effect_id="eff_ending", key="key_ending"))

    judged = judge(an_effect_of(bench), bench.provider.look_up(bench.frozen_call()))

    assert judged.verdict is Verdict.ABSENT


def test_a_renewal_that_somebody_else_switched_on_is_a_conflict(
    fake: FakeStripe, bench: Bench
) -> None:
    fake.world.switch_renewal("sub_1", on=True)

    judged = judge(an_effect_of(bench), bench.provider.look_up(bench.frozen_call()))

    assert judged.verdict is Verdict.CONFLICT


def test_a_renewal_that_is_ended_again_after_our_write_differs(
    fake: FakeStripe, bench: Bench
) -> None:
    bench.provider.call(bench.frozen_call())
    fake.world.switch_renewal("sub_1", on=False)

    (record,) = bench.provider.look_up(bench.frozen_call()).records

    assert (record.mark, record.status) == (EFFECT_ID, RecordStatus.FAILED)
    assert record.fields == bench.bound | {"cancel_at": "period_end"}


def test_a_renewal_that_is_off_can_be_switched_on(bench: Bench) -> None:
    authority = bench.provider.authority(bench.bound, {})

    assert authority.allowed
    assert authority.reason == "the renewal is off and can be switched on again"


@pytest.mark.parametrize(
    ("happened", "reason"),
    [
        (lambda world: world.switch_renewal("sub_1", on=True), "the renewal is already on"),
        (
            lambda world: setattr(world.subscriptions["sub_1"], "status", "canceled"),
            "the subscription is canceled",
        ),
        (
            lambda world: setattr(world.subscriptions["sub_1"], "customer", "cus_2"),
            "the subscription belongs to another customer",
        ),
    ],
)
def test_what_the_subscription_does_not_allow_is_refused_with_its_reason(
    fake: FakeStripe, bench: Bench, happened: Callable[[StripeWorld], object], reason: str
) -> None:
    happened(fake.world)

    authority = bench.provider.authority(bench.bound, {})

    assert not authority.allowed
    assert authority.reason == reason


def test_an_account_that_does_not_know_the_subscription_proves_no_absence(
    fake: FakeStripe, bench: Bench
) -> None:
    del fake.world.subscriptions["sub_1"]

    with pytest.raises(ProviderFault) as fault:
        bench.provider.look_up(bench.frozen_call())
    assert fault.value.kind is FaultKind.ANSWERED
