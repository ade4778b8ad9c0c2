"""Refunds: who may be refunded, and which refund is ours."""

from collections.abc import Callable

import pytest

from ledger.provider import Findings, ProviderFault, RecordStatus
from ledger.record import Scalar
from providers.stripe_client import MAX_PAGES, PAGE_SIZE
from tests.fakes.benches import EFFECT_ID, EMAIL, KEY, RUN_ID, Bench, fake_stripe, library
from tests.fakes.benches import refund_bench as bench_of
from tests.fakes.clock import FakeClock
from tests.fakes.stripe import FakeStripe, Fault
from tests.fakes.stripe_world import StripeWorld

_IDS = {"customer_id": "cus_1", "charge_id": "ch_1"}


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def fake(clock: FakeClock) -> FakeStripe:
    return fake_stripe(clock)


@pytest.fixture
def bench(fake: FakeStripe) -> Bench:
    return bench_of(library(fake), _IDS)


def _look_up(bench: Bench) -> Findings:
    return bench.provider.look_up(bench.frozen_call())


@pytest.mark.parametrize(
    ("happened", "bound", "reason"),
    [
        (lambda _: None, {"charge_id": "ch_9"}, "the charge does not exist"),
        (lambda _: None, {"customer_id": "cus_2"}, "the charge belongs to another customer"),
        (lambda _: None, {"currency": "EUR"}, "the charge is in USD, not in EUR"),
        (lambda world: world.open_dispute("ch_1"), {}, "the charge is disputed"),
        (
            lambda world: world.make_refund("ch_1", 6_000),
            {},
            "4000 of the 7900 minor units can still be refunded",
        ),
        (
            lambda world: setattr(world.charges["ch_1"], "status", "failed"),
            {},
            "the charge is failed",
        ),
    ],
)
def test_a_refund_that_the_charge_does_not_allow_is_refused_with_its_reason(
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


def test_the_authority_snapshot_says_what_was_read(fake: FakeStripe, bench: Bench) -> None:
    fake.world.make_refund("ch_1", 1_000)

    authority = bench.provider.authority(bench.bound, {})

    assert authority.allowed
    assert authority.snapshot == {
        "charge_id": "ch_1",
        "found": True,
        "customer_id": "cus_1",
        "currency": "USD",
        "amount_minor": 10_000,
        "refundable_minor": 9_000,
        "disputed": False,
        "charge_status": "succeeded",
    }


@pytest.mark.parametrize(
    ("currency", "amount_minor", "allowed"),
    [
        ("USD", 7_901, True),
        ("JPY", 7_901, True),
        ("BHD", 7_900, True),
        ("BHD", 7_901, False),  # Stripe takes three decimals in tens only
        ("ISK", 7_900, False),  # 7900 crowns by ISO 4217, 79 by Stripe
        ("UGX", 7_900, False),
        ("MGA", 7_900, False),
    ],
)
def test_an_amount_that_stripe_counts_in_other_units_is_never_sent(
    fake: FakeStripe, currency: str, amount_minor: int, allowed: bool
) -> None:
    fake.world.add_charge("ch_2", "cus_1", 10_000, currency.lower())
    bench = bench_of(library(fake), {"customer_id": "cus_1", "charge_id": "ch_2"})
    bound = bench.bound | {"currency": currency, "amount_minor": amount_minor}

    assert bench.provider.authority(bound, {}).allowed is allowed


@pytest.mark.parametrize(
    ("stripes_word", "status"),
    [
        ("succeeded", RecordStatus.DONE),
        ("pending", RecordStatus.PENDING),
        ("requires_action", RecordStatus.PENDING),
        ("failed", RecordStatus.FAILED),
        ("canceled", RecordStatus.FAILED),
        ("a_word_of_next_year", RecordStatus.PENDING),
    ],
)
def test_stripes_refund_status_is_read_as_how_far_it_has_got(
    fake: FakeStripe, bench: Bench, stripes_word: str, status: RecordStatus
) -> None:
    fake.world.next_refund_script = ((0, stripes_word),)

    record = bench.provider.call(bench.frozen_call())

    assert (record.status, record.provider_status) == (status, stripes_word)


def test_a_refund_that_fails_days_after_it_succeeded_is_seen_as_failed(
    fake: FakeStripe, clock: FakeClock, bench: Bench
) -> None:
    days_seconds = 3 * 24 * 3600
    fake.world.next_refund_script = ((0, "succeeded"), (days_seconds, "failed"))
    bench.provider.call(bench.frozen_call())
    clock.pass_ms(days_seconds * 1000)

    (record,) = _look_up(bench).records

    assert (record.mark, record.status) == (EFFECT_ID, RecordStatus.FAILED)


def test_a_refund_from_the_dashboard_is_found_without_our_mark(
    fake: FakeStripe, bench: Bench
) -> None:
    fake.world.make_refund("ch_1", 7_900)

    (record,) = _look_up(bench).records

    assert record.mark is None
    assert record.fields == bench.bound


def test_our_refund_is_found_beyond_the_first_page(fake: FakeStripe, bench: Bench) -> None:
    bench.provider.call(bench.frozen_call())
    for _ in range(PAGE_SIZE):
        fake.world.make_refund("ch_1", 1)

    found = _look_up(bench)

    assert len(found.records) == PAGE_SIZE + 1
    assert found.complete
    assert [record.fields for record in found.records if record.mark == EFFECT_ID] == [bench.bound]


def test_a_charge_with_more_refunds_than_are_read_proves_no_absence(
    fake: FakeStripe, bench: Bench
) -> None:
    for _ in range(MAX_PAGES * PAGE_SIZE + 1):
        fake.world.make_refund("ch_1", 1)

    found = _look_up(bench)

    assert not found.complete
    assert len([seen for seen in fake.requests if seen.path == "/v1/refunds"]) == MAX_PAGES


def test_an_account_that_does_not_know_the_charge_proves_no_absence(
    fake: FakeStripe, bench: Bench
) -> None:
    del fake.world.charges["ch_1"]

    with pytest.raises(ProviderFault):
        _look_up(bench)


def test_a_page_that_cannot_be_read_is_a_fault_and_not_a_short_list(
    fake: FakeStripe, bench: Bench
) -> None:
    for _ in range(PAGE_SIZE + 1):
        fake.world.make_refund("ch_1", 1)
    fake.fail_next(Fault.UNAVAILABLE, "GET", "/v1/refunds")

    with pytest.raises(ProviderFault):
        _look_up(bench)


def test_a_repeat_sends_the_same_key_and_bytes_and_gets_the_same_refund(
    fake: FakeStripe, bench: Bench
) -> None:
    first = bench.provider.call(bench.frozen_call())
    second = bench.provider.call(bench.frozen_call())

    assert first.record_id == second.record_id
    assert len(fake.world.refunds_marked(EFFECT_ID)) == 1
    one, other = fake.posts("/v1/refunds")
    assert (one.key, one.body) == (other.key, other.body)
    assert one.key == KEY
    assert (
        one.body
        == (
            f"amount=7900&charge=ch_1&metadata[effect_id]={EFFECT_ID}&metadata[run_id]={RUN_ID}"
            "&reason=requested_by_customer"
        ).encode()
    )
