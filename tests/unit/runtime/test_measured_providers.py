"""A provider's faults are counted by what its contract says of them, and raised on unchanged."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from ledger.contract import ErrorClass, FaultKind
from ledger.provider import ProviderCall, ProviderFault
from providers.contracts import CONTRACTS
from providers.stripe_audit import StripeRefundAudit
from providers.stripe_client import StripeLibrary
from providers.stripe_refunds import StripeRefunds
from runtime import metrics
from runtime.measured_providers import MeasuredAudit, MeasuredProvider, MeasuredProviders
from runtime.metric_names import PROVIDER_ERRORS
from runtime.metrics import Measurement
from tests.fakes.clock import FakeClock
from tests.fakes.stripe import FakeStripe, Fault

CALL = ProviderCall(
    run_id="run_1",
    effect_id="eff_1",
    idempotency_key="key_1",
    bound={"charge_id": "ch_1", "amount_minor": 100, "currency": "USD", "customer_id": "cus_1"},
    params={"charge": "ch_1", "amount": 100, "metadata": {"effect_id": "eff_1"}},
)
METHODS: dict[str, Callable[[MeasuredProvider], Any]] = {
    "call": lambda provider: provider.call(CALL),
    "look_up": lambda provider: provider.look_up(CALL),
    "authority": lambda provider: provider.authority(CALL.bound, {}),
}


@pytest.fixture(autouse=True)
def _nothing_measured() -> Iterator[None]:
    metrics._unsaid.clear()
    yield
    metrics._unsaid.clear()


@pytest.fixture
def fake() -> FakeStripe:
    fake = FakeStripe(FakeClock())
    fake.world.add_charge("ch_1", "cus_1", 10_000)
    return fake


def refunds(fake: FakeStripe) -> MeasuredProvider:
    library = StripeLibrary("sk_test_x", "http://127.0.0.1:1", fake)
    return MeasuredProvider(StripeRefunds(library))


def audit(fake: FakeStripe) -> MeasuredAudit:
    library = StripeLibrary("sk_test_x", "http://127.0.0.1:1", fake)
    return MeasuredAudit(CONTRACTS["stripe_refunds"], StripeRefundAudit(library))


@pytest.mark.parametrize("method", METHODS)
def test_a_call_that_works_counts_nothing(fake: FakeStripe, method: str) -> None:
    METHODS[method](refunds(fake))

    assert metrics._unsaid == []


@pytest.mark.parametrize("method", METHODS)
def test_a_fault_is_counted_and_raised_on(fake: FakeStripe, method: str) -> None:
    fake.fail_next(Fault.UNAVAILABLE, method="POST" if method == "call" else "GET")

    with pytest.raises(ProviderFault) as caught:
        METHODS[method](refunds(fake))

    assert (caught.value.kind, caught.value.status) == (FaultKind.ANSWERED, 503)
    assert metrics._unsaid == [
        Measurement(
            PROVIDER_ERRORS, 1, (("error_class", "unknown"), ("provider", "stripe_refunds"))
        )
    ]


def test_the_class_is_the_contracts_own_word(fake: FakeStripe) -> None:
    fake.fail_next(Fault.LOCK_TIMEOUT)

    with pytest.raises(ProviderFault):
        refunds(fake).call(CALL)

    (found,) = metrics._unsaid
    assert dict(found.dimensions)["error_class"] == ErrorClass.NOT_REACHED


def test_every_name_of_a_provider_and_of_a_class_can_be_a_dimension() -> None:
    for provider in CONTRACTS:
        for error_class in ErrorClass:
            metrics.measure(PROVIDER_ERRORS, 1, provider=provider, error_class=error_class)


def test_every_provider_that_is_asked_for_by_name_is_measured(fake: FakeStripe) -> None:
    made = StripeRefunds(StripeLibrary("sk_test_x", "http://127.0.0.1:1", fake))
    measured = MeasuredProviders({"stripe_refunds": made})
    fake.fail_next(Fault.UNAVAILABLE, method="GET")

    with pytest.raises(ProviderFault):
        measured["stripe_refunds"].look_up(CALL)

    assert list(measured) == ["stripe_refunds"]
    assert len(metrics._unsaid) == 1


def test_given_an_audit_when_it_can_be_read_then_its_page_is_given_and_nothing_counted(
    fake: FakeStripe,
) -> None:
    refunds(fake).call(CALL)

    page = audit(fake).marked_since(0, None)

    assert [found.effect_id for found in page.records] == ["eff_1"]
    assert audit(fake).marked_since(0, page.records[0].record_id).records == ()
    assert metrics._unsaid == []


def test_given_an_audit_when_it_cannot_be_read_then_its_fault_is_counted_and_raised_on(
    fake: FakeStripe,
) -> None:
    fake.fail_next(Fault.UNAVAILABLE, method="GET")

    with pytest.raises(ProviderFault) as caught:
        audit(fake).marked_since(0, None)

    assert (caught.value.kind, caught.value.status) == (FaultKind.ANSWERED, 503)
    assert metrics._unsaid == [
        Measurement(
            PROVIDER_ERRORS, 1, (("error_class", "unknown"), ("provider", "stripe_refunds"))
        )
    ]
