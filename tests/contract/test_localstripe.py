"""The Stripe adapters over localstripe, unmodified: what it lacks, each gap by what comes of it.

A test that fails here says that localstripe has learnt something: the exception made for it in
``localstripe.py`` or in ``test_provider_contract.py`` can go.
"""

from collections.abc import Callable, Mapping

import pytest

from ledger.contract import ErrorClass
from ledger.provider import ProviderFault
from providers.stripe_billing import CONTRACT, StripeBilling
from providers.stripe_client import StripeLibrary
from sandbox.stripe_server import API_KEY
from tests.contract.provider_servers import StripeServers
from tests.fakes.benches import EFFECT_ID, KEY, Bench, billing_bench, refund_bench

pytestmark = pytest.mark.slow

type _MakeCall = Callable[[StripeLibrary, Mapping[str, str]], object]

# Each with the status that localstripe answers to the adapter's own bytes.
_EVERY_CALL: Mapping[str, tuple[_MakeCall, int]] = {
    "charge": (lambda api, ids: api.charge(ids["charge_id"]), 200),
    "customer": (lambda api, ids: api.customer(ids["customer_id"]), 200),
    "subscription": (lambda api, ids: api.subscription(ids["subscription_id"]), 200),
    "refunds_of": (lambda api, ids: api.refunds_of(ids["charge_id"]), 200),
    # It lists no refunds by time, so an audit of recent ones cannot be made over it.
    "refunds_since": (lambda api, _ids: api.refunds_since(0, None), 500),
    # It refuses the reason.
    "create_refund": (lambda api, ids: _call(refund_bench(api, ids)), 400),
    "update_subscription": (lambda api, ids: _call(billing_bench(api, ids)), 200),
}


def _call(bench: Bench) -> object:
    return bench.provider.call(bench.frozen_call())


@pytest.fixture
def subscriber(stripe_servers: StripeServers) -> Mapping[str, str]:
    return stripe_servers.subscriber()


@pytest.fixture
def own_bytes(stripe_servers: StripeServers) -> StripeLibrary:
    """The adapter's library as it is in production, with nothing in between."""
    return StripeLibrary(API_KEY, stripe_servers.localstripe_url)


def test_it_refuses_a_refunds_reason_so_the_adapters_own_bytes_make_no_refund(
    own_bytes: StripeLibrary, subscriber: Mapping[str, str]
) -> None:
    bench = refund_bench(own_bytes, subscriber)

    with pytest.raises(ProviderFault) as caught:
        bench.provider.call(bench.frozen_call())

    fault = caught.value
    assert (fault.status, fault.code) == (400, "invalid_request_error")
    assert CONTRACT.classify(fault.kind, fault.status, fault.code) is ErrorClass.REFUSED
    assert bench.held() == []


@pytest.mark.parametrize("name", sorted(_EVERY_CALL))
def test_every_call_of_the_adapters_is_answered_or_refused_as_is_known_of_it(
    own_bytes: StripeLibrary, subscriber: Mapping[str, str], name: str
) -> None:
    make_call, expected = _EVERY_CALL[name]
    status = 200

    try:
        make_call(own_bytes, subscriber)
    except ProviderFault as fault:
        status = fault.status or 0

    assert status == expected


def test_no_call_that_an_adapter_can_make_is_left_out_here() -> None:
    assert set(_EVERY_CALL) == {name for name in vars(StripeLibrary) if not name.startswith("_")}


def test_a_refund_made_elsewhere_is_found_with_the_adapters_own_bytes(
    own_bytes: StripeLibrary, subscriber: Mapping[str, str], stripe_servers: StripeServers
) -> None:
    bench = refund_bench(own_bytes, subscriber)
    made = stripe_servers.sandbox.change_at_dashboard(
        "refunds", {"charge": subscriber["charge_id"], "amount": 2_100}
    )

    (found,) = bench.provider.look_up(bench.frozen_call()).records

    assert bench.provider.authority(bench.bound, {}).allowed
    assert (found.record_id, found.mark, found.fields["amount_minor"]) == (made["id"], None, 2_100)


def test_a_renewal_is_ended_and_goes_on_again_with_the_adapters_own_bytes(
    own_bytes: StripeLibrary, subscriber: Mapping[str, str]
) -> None:
    ending = billing_bench(own_bytes, subscriber)
    going_on = Bench(
        StripeBilling(own_bytes), "resume_renewal", {**ending.bound, "cancel_at": "never"}
    )

    ending.provider.call(ending.frozen_call())
    assert ending.held()
    assert going_on.provider.authority(going_on.bound, {}).allowed
    record = going_on.provider.call(going_on.frozen_call("eff_resume", "key_resume"))

    assert record.fields == going_on.bound
    assert not ending.held()


@pytest.mark.parametrize("effect_id", [EFFECT_ID, "eff_other"], ids=["repeated", "other bytes"])
def test_it_knows_no_keys_so_it_makes_a_second_refund_under_one(
    stripe_servers: StripeServers, effect_id: str
) -> None:
    bench = stripe_servers.localstripe("refund")
    bench.bound["amount_minor"] = 2_500
    bench.provider.call(bench.frozen_call())

    bench.provider.call(bench.frozen_call(effect_id, KEY))

    assert len(bench.held()) == 2


def test_it_refunds_more_than_was_charged(stripe_servers: StripeServers) -> None:
    bench = stripe_servers.localstripe("refund")

    for _ in range(2):  # of USD 79.00 each, of a charge of USD 100.00
        bench.provider.call(bench.frozen_call())

    assert len(bench.held()) == 2


def test_it_forgets_a_subscriptions_mark_so_the_end_of_a_renewal_is_found_unmarked(
    stripe_servers: StripeServers,
) -> None:
    bench = stripe_servers.localstripe("cancel_renewal")

    bench.provider.call(bench.frozen_call())
    (found,) = bench.provider.look_up(bench.frozen_call()).records

    assert found.mark is None
    assert found.fields == bench.bound
