"""One suite over every provider: what the engine relies on, whoever stands behind the adapter.

A new provider is one line in ``_FAKES``. The Stripe adapters meet three Stripes: the fake, the
sandbox's, and localstripe as it comes. The archive meets two S3: the fake, and moto's.
"""

import ssl
from collections.abc import Iterator, Mapping

import pytest

from ledger.canonical import canonical_bytes
from ledger.contract import ErrorClass, FaultKind, LookUp
from ledger.errors import InvariantBroken
from ledger.provider import ProviderFault, ProviderRecord, RecordStatus
from ledger.record import Scalar
from providers.contracts import CONTRACTS
from providers.stripe_client import StripeLibrary
from providers.stripe_promises import CALL_TIMEOUT_SECONDS
from providers.stripe_transport import Answer, SocketTransport
from sandbox.stripe_seed import create_subscriber, stripe_client
from sandbox.stripe_server import API_KEY, StripeSandbox, start_stripe
from tests.contract.moto_s3 import moto_archive_bench
from tests.fakes.benches import (
    EFFECT_ID,
    EMAIL,
    RUN_ID,
    Bench,
    billing_bench,
    fake_bench,
    refund_bench,
)

_FAKES = ("refund", "cancel_renewal", "receipt", "deliver_link", "archive")
_SERVERS = [
    pytest.param(name, marks=pytest.mark.slow)
    for name in ("refund@sandbox", "cancel_renewal@sandbox", "refund@localstripe")
]


class _WithoutReason:
    """localstripe refuses a refund's reason, which Stripe only keeps for display."""

    def __init__(self, base_address: str) -> None:
        self._send = SocketTransport(base_address, ssl.create_default_context, CALL_TIMEOUT_SECONDS)

    def __call__(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> Answer:
        return self._send(
            method, path, headers, body.removesuffix(b"&reason=requested_by_customer")
        )


@pytest.fixture(scope="module")
def stripe_servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StripeSandbox]:
    servers = start_stripe(tmp_path_factory.mktemp("stripe"))
    try:
        yield servers
    finally:
        servers.stop()


def _server_bench(servers: StripeSandbox, operation: str, where: str) -> Bench:
    servers.reset()  # every test uses the same key
    subscriber = vars(create_subscriber(stripe_client(servers.behind_url), EMAIL))
    if where == "sandbox":
        api = StripeLibrary(API_KEY, servers.url)
    else:
        api = StripeLibrary(API_KEY, servers.behind_url, _WithoutReason(servers.behind_url))
    return (refund_bench if operation == "refund" else billing_bench)(api, subscriber)


@pytest.fixture(params=[*_FAKES, *_SERVERS, "archive@moto"])
def bench(request: pytest.FixtureRequest) -> Iterator[Bench]:
    operation, _, where = request.param.partition("@")
    match where:
        case "":
            yield fake_bench(operation)
        case "moto":
            with moto_archive_bench() as made:
                yield made
        case _:
            yield _server_bench(request.getfixturevalue("stripe_servers"), operation, where)


@pytest.fixture(params=_FAKES)
def faulty(request: pytest.FixtureRequest) -> Bench:
    return fake_bench(request.param)


def test_composing_is_pure_and_has_one_canonical_form(faulty: Bench) -> None:
    before = dict(faulty.bound)

    first = faulty.provider.compose(faulty.intent())
    second = faulty.provider.compose(faulty.intent())

    assert canonical_bytes(first) == canonical_bytes(second)
    assert faulty.bound == before


def test_composed_parameters_carry_our_mark_and_nothing_personal(faulty: Bench) -> None:
    sent = canonical_bytes(faulty.provider.compose(faulty.intent())).decode()

    assert f'"effect_id":"{EFFECT_ID}"' in sent
    assert f'"run_id":"{RUN_ID}"' in sent
    assert "@" not in sent


def test_the_consequence_of_the_composed_parameters_is_what_was_approved(faulty: Bench) -> None:
    consequence = faulty.provider.consequence(faulty.provider.compose(faulty.intent()))

    assert consequence
    assert consequence.items() <= faulty.bound.items()


def _what_is_bound(record: ProviderRecord, bench: Bench) -> dict[str, Scalar]:
    """Return a record's fields without those that only describe what was made."""
    return {name: value for name, value in record.fields.items() if name in bench.bound}


def _mail_that_says(operation: str, **bound: Scalar) -> dict[str, object]:
    """Return what a mail of this kind is composed of for other bound fields."""
    bench = fake_bench(operation)
    bench.bound |= bound
    return bench.provider.compose(bench.intent())


@pytest.mark.parametrize(
    ("operation", "change"),
    [
        ("refund", {"amount": 79_000}),
        ("refund", {"charge": "ch_2"}),
        ("cancel_renewal", {"subscription": "sub_2"}),
        ("cancel_renewal", {"cancel_at_period_end": False}),
        ("receipt", _mail_that_says("receipt", amount_minor=79_000)),
        ("receipt", _mail_that_says("receipt", refund_id="re_2")),
        ("deliver_link", _mail_that_says("deliver_link", artifact_id="art_2")),
        ("deliver_link", _mail_that_says("deliver_link", project_id="prj_2")),
        ("deliver_link", _mail_that_says("deliver_link", valid_until_ms=2_000_000_000_000)),
        ("archive", {"project_id": "prj_2"}),
        ("archive", {"customer_id": "cus_2"}),
        ("archive", {"scope": "account"}),
        ("archive", {"schema": 2}),
    ],
)
def test_altered_parameters_have_another_consequence(
    operation: str, change: dict[str, object]
) -> None:
    bench = fake_bench(operation)
    params = bench.provider.compose(bench.intent()) | change

    consequence = bench.provider.consequence(params)

    assert not consequence.items() <= bench.bound.items()


@pytest.mark.parametrize(
    ("operation", "change"),
    [
        ("refund", {"amount": None}),
        ("cancel_renewal", {"cancel_at_period_end": None}),
        ("receipt", {"text": "Your renewal is off."}),
        ("deliver_link", {"text": "Your renewal is off."}),
        ("deliver_link", {"tags": {"run_id": "run_another"}}),
        ("archive", {"key": "artifacts/eff_another"}),
        ("archive", {"project_id": None}),
        ("archive", {"with": "everything else"}),
    ],
)
def test_parameters_of_another_kind_of_write_are_never_taken_for_the_approved_one(
    operation: str, change: dict[str, object]
) -> None:
    bench = fake_bench(operation)

    with pytest.raises(InvariantBroken):
        bench.provider.consequence(bench.provider.compose(bench.intent()) | change)


def test_before_the_write_it_is_allowed_and_not_to_be_found(bench: Bench) -> None:
    authority = bench.provider.authority(bench.bound, bench.personal)
    found = bench.provider.look_up(bench.frozen_call())

    assert authority.allowed, authority.reason
    assert authority.snapshot["customer_id"] == bench.bound["customer_id"]
    assert EMAIL not in str(authority)
    assert not found.records
    assert found.complete is bench.provider.contract.absence_can_be_proven


def test_the_answer_to_a_write_names_our_mark_and_contradicts_nothing(bench: Bench) -> None:
    record = bench.provider.call(bench.frozen_call())

    assert record.record_id
    assert record.mark == EFFECT_ID
    assert record.status is RecordStatus.DONE
    assert _what_is_bound(record, bench).items() <= bench.bound.items()
    if not bench.provider.contract.confirmed_by_read:
        assert record.fields == bench.bound  # no read will say more


def test_a_write_is_found_again_by_our_mark_with_every_approved_field(bench: Bench) -> None:
    call = bench.frozen_call()

    record = bench.provider.call(call)
    found = bench.provider.look_up(call)

    if bench.provider.contract.look_up is LookUp.NONE:
        assert not found.records
    else:
        (ours,) = found.records
        assert (ours.record_id, ours.mark, ours.status) == (
            record.record_id,
            EFFECT_ID,
            RecordStatus.DONE,
        )
        assert _what_is_bound(ours, bench) == bench.bound


def test_another_effects_look_up_does_not_find_our_mark(bench: Bench) -> None:
    bench.provider.call(bench.frozen_call())

    found = bench.provider.look_up(bench.frozen_call(effect_id="eff_other", key="key_other"))

    assert not [record for record in found.records if record.mark == "eff_other"]


def test_a_write_whose_answer_was_lost_is_unknown_and_found_where_it_can_be(
    faulty: Bench,
) -> None:
    assert faulty.lose_next_answer is not None
    faulty.lose_next_answer()
    contract = faulty.provider.contract

    with pytest.raises(ProviderFault) as caught:
        faulty.provider.call(faulty.frozen_call())
    found = faulty.provider.look_up(faulty.frozen_call())

    fault = caught.value
    assert contract.classify(fault.kind, fault.status, fault.code) is ErrorClass.UNKNOWN
    marks = [record.mark for record in found.records]
    assert marks == ([] if contract.look_up is LookUp.NONE else [EFFECT_ID])


@pytest.mark.slow
def test_localstripe_forgets_a_subscriptions_mark_so_its_end_is_found_unmarked(
    stripe_servers: StripeSandbox,
) -> None:
    bench = _server_bench(stripe_servers, "cancel_renewal", "localstripe")

    bench.provider.call(bench.frozen_call())
    (found,) = bench.provider.look_up(bench.frozen_call()).records

    assert found.mark is None
    assert found.fields == bench.bound


@pytest.mark.parametrize("name", sorted(CONTRACTS))
def test_a_contract_promises_nothing_that_its_own_values_forbid(name: str) -> None:
    contract = CONTRACTS[name]

    assert contract.provider == name
    assert contract.settle_window_seconds >= contract.call_timeout_seconds
    assert contract.recovery_deadline_seconds > contract.settle_window_seconds
    if contract.key_lifetime_seconds is not None:
        assert 0 < contract.key_margin_seconds < contract.key_lifetime_seconds
    if contract.replay_after_absence:
        assert contract.absence_can_be_proven
    assert contract.classify(FaultKind.NEVER_SENT, None, None) is ErrorClass.NOT_REACHED
    assert contract.classify(FaultKind.NO_ANSWER, None, None) is ErrorClass.UNKNOWN
    assert contract.classify(FaultKind.UNREADABLE, 200, None) is ErrorClass.UNKNOWN
    for status in range(500, 600):
        assert contract.classify(FaultKind.ANSWERED, status, "any") is ErrorClass.UNKNOWN


def test_every_adapter_declares_the_contract_listed_under_its_name() -> None:
    declared = [fake_bench(operation).provider.contract for operation in _FAKES]

    assert {contract.provider: contract for contract in declared} == dict(CONTRACTS)
