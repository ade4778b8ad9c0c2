"""One suite over every provider: what the engine relies on, whoever stands behind the adapter.

A new provider is one line in ``_FAKES``, and one where it belongs by what guards a repeated call.
The Stripe adapters meet three Stripes: the fake, the sandbox's, and localstripe as it comes, whose
gaps ``test_localstripe.py`` pins. The archive meets three S3: the fake, moto's, and that of the
sandbox's AWS, which takes the mails as well.
"""

from collections.abc import Iterator

import pytest

from ledger.canonical import canonical_bytes
from ledger.contract import ErrorClass, FaultKind, LookUp
from ledger.errors import InvariantBroken
from ledger.provider import ProviderCall, ProviderFault, ProviderRecord, RecordStatus
from ledger.record import Scalar
from providers.contracts import CONTRACTS
from tests.contract.moto_s3 import moto_archive_bench
from tests.fakes.benches import EFFECT_ID, EMAIL, KEY, RUN_ID, Bench, Guard, fake_bench

_FAKES = ("refund", "cancel_renewal", "receipt", "deliver_link", "archive")
_SANDBOX = (
    "refund@sandbox",
    "cancel_renewal@sandbox",
    "receipt@sandbox",
    "deliver_link@sandbox",
    "archive@sandbox",
)
_LOCALSTRIPE = ("refund@localstripe", "cancel_renewal@localstripe")
_MOTO = ("archive@moto",)
_EVERYWHERE = (*_FAKES, *_SANDBOX, *_LOCALSTRIPE, *_MOTO)
# moto answers inside this process, where nothing lies between that could lose an answer.
_LOSING_ANSWERS = (*_FAKES, *_SANDBOX, *_LOCALSTRIPE)
# localstripe knows no keys, so what the contract promises of a repeat cannot be asked of it.
_GUARDED_AS_PROMISED = (*_FAKES, *_SANDBOX, *_MOTO)
_WITH_KEYS = ("refund", "cancel_renewal", "refund@sandbox", "cancel_renewal@sandbox")
_WITH_OBJECT_KEYS = ("archive", "archive@moto", "archive@sandbox")


def _on(names: tuple[str, ...]) -> list[object]:
    """Return the names as parameters; what needs a server of its own is slow."""
    slow = (*_SANDBOX, *_LOCALSTRIPE)
    marks = {name: [pytest.mark.slow] if name in slow else [] for name in names}
    return [pytest.param(name, marks=marks[name]) for name in names]


def _made(request: pytest.FixtureRequest) -> Iterator[Bench]:
    operation, _, where = request.param.partition("@")
    match where:
        case "":
            yield fake_bench(operation)
        case "moto":
            with moto_archive_bench() as made:
                yield made
        case "localstripe":
            yield request.getfixturevalue("stripe_servers").localstripe(operation)
        case _ if operation == "archive":
            yield request.getfixturevalue("aws_server").archive()
        case _ if operation in ("receipt", "deliver_link"):
            stripe = request.getfixturevalue("stripe_servers")
            yield request.getfixturevalue("aws_server").mail(operation, stripe)
        case _:
            yield request.getfixturevalue("stripe_servers").behind_the_proxy(operation)


@pytest.fixture(params=_on(_EVERYWHERE))
def bench(request: pytest.FixtureRequest) -> Iterator[Bench]:
    yield from _made(request)


@pytest.fixture(params=_on(_LOSING_ANSWERS))
def losing(request: pytest.FixtureRequest) -> Iterator[Bench]:
    yield from _made(request)


@pytest.fixture(params=_on(_GUARDED_AS_PROMISED))
def guarded(request: pytest.FixtureRequest) -> Iterator[Bench]:
    yield from _made(request)


@pytest.fixture(params=_on(_WITH_KEYS))
def keyed(request: pytest.FixtureRequest) -> Iterator[Bench]:
    yield from _made(request)


@pytest.fixture(params=_on(_WITH_OBJECT_KEYS))
def named(request: pytest.FixtureRequest) -> Iterator[Bench]:
    yield from _made(request)


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
        ("refund", {"reverse_transfer": True}),
        ("refund", {"reason": "fraudulent"}),
        ("refund", {"metadata": {"effect_id": EFFECT_ID, "run_id": RUN_ID, "order": "4711"}}),
        ("refund", {"metadata": None}),
        ("cancel_renewal", {"cancel_at_period_end": None}),
        ("cancel_renewal", {"proration_behavior": "always_invoice"}),
        ("cancel_renewal", {"metadata": {"effect_id": EFFECT_ID}}),
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
    assert record.mark == bench.shown_mark
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
            bench.shown_mark,
            RecordStatus.DONE,
        )
        assert _what_is_bound(ours, bench) == bench.bound


def test_another_effects_look_up_does_not_find_our_mark(bench: Bench) -> None:
    bench.provider.call(bench.frozen_call())

    found = bench.provider.look_up(bench.frozen_call(effect_id="eff_other", key="key_other"))

    assert not [record for record in found.records if record.mark == "eff_other"]


def test_a_write_whose_answer_was_lost_is_unknown_and_found_once_where_it_can_be(
    losing: Bench,
) -> None:
    assert losing.lose_next_answer is not None
    losing.lose_next_answer()
    call = losing.frozen_call()

    told = _told(losing, call)
    found = losing.provider.look_up(call)

    assert told is ErrorClass.UNKNOWN
    (held,) = losing.held()
    if losing.provider.contract.look_up is LookUp.NONE:
        assert not found.records
        assert not found.complete
    else:
        (ours,) = found.records
        assert found.complete
        assert (ours.record_id, ours.mark) == (held, losing.shown_mark)
        assert _what_is_bound(ours, losing) == losing.bound


def test_a_lost_answer_is_followed_by_a_safe_repeat_exactly_where_the_contract_says_so(
    guarded: Bench,
) -> None:
    contract = guarded.provider.contract
    call = guarded.frozen_call()
    if guarded.lose_next_answer is not None:
        guarded.lose_next_answer()
    _told(guarded, call)

    again = _told(guarded, call)

    assert contract.replay_after_absence is (guarded.guard is not Guard.NOTHING)
    match guarded.guard:
        case Guard.KEY:
            assert contract.key_lifetime_seconds is not None
            assert isinstance(again, ProviderRecord)
            assert guarded.held() == [again.record_id]
        case Guard.OBJECT:
            assert contract.key_lifetime_seconds is None
            assert again is ErrorClass.COMPARE
            assert guarded.held() == [guarded.provider.look_up(call).records[0].record_id]
        case Guard.NOTHING:
            # What the contract forbids would be a second mail: it is for the engine not to send it.
            assert contract.key_lifetime_seconds is None
            assert not contract.absence_can_be_proven
            assert isinstance(again, ProviderRecord)
            assert len(guarded.held()) == 2


def test_a_repeat_is_answered_as_at_first_for_as_long_as_the_contract_relies_on_the_key(
    keyed: Bench,
) -> None:
    contract = keyed.provider.contract
    assert keyed.pass_seconds is not None
    assert contract.key_lifetime_seconds is not None
    call = keyed.frozen_call()
    first = keyed.provider.call(call)

    at_once = keyed.provider.call(call)
    keyed.pass_seconds(contract.key_lifetime_seconds - contract.key_margin_seconds)
    at_last = keyed.provider.call(call)

    assert at_once == at_last == first
    assert keyed.held() == [first.record_id]


@pytest.mark.parametrize("keyed", _on(("cancel_renewal", "cancel_renewal@sandbox")), indirect=True)
def test_a_repeat_under_its_key_does_not_do_again_what_somebody_took_back(keyed: Bench) -> None:
    assert keyed.take_back is not None
    keyed.provider.call(keyed.frozen_call())
    keyed.take_back()

    keyed.provider.call(keyed.frozen_call())

    assert keyed.held() == []


def test_other_bytes_under_a_known_key_are_a_key_conflict_and_change_nothing(keyed: Bench) -> None:
    call = keyed.frozen_call()
    first = keyed.provider.call(call)
    before = keyed.provider.look_up(call)
    other = keyed.frozen_call(effect_id="eff_other", key=KEY)

    told = _told(keyed, other)

    assert canonical_bytes(other.params) != canonical_bytes(call.params)
    assert told is ErrorClass.KEY_CONFLICT
    assert keyed.held() == [first.record_id]
    assert keyed.provider.look_up(call) == before


def test_other_bytes_under_an_objects_key_are_for_comparing_and_replace_nothing(
    named: Bench,
) -> None:
    assert named.change_target is not None
    call = named.frozen_call()
    first = named.provider.call(call)
    before = named.provider.look_up(call)
    named.change_target()

    told = _told(named, call)

    assert told is ErrorClass.COMPARE
    assert named.held() == [first.record_id]
    assert named.provider.look_up(call) == before


def _told(bench: Bench, call: ProviderCall) -> ProviderRecord | ErrorClass:
    """Return the record, or what its contract makes of the fault."""
    try:
        return bench.provider.call(call)
    except ProviderFault as fault:
        return bench.provider.contract.classify(fault.kind, fault.status, fault.code)


@pytest.mark.parametrize("name", sorted(CONTRACTS))
def test_a_contract_speaks_of_keys_in_conflict_exactly_where_it_has_keys(name: str) -> None:
    contract = CONTRACTS[name]
    classes = {rule.error_class for rule in contract.errors}

    assert (ErrorClass.KEY_CONFLICT in classes) is (contract.key_lifetime_seconds is not None)


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


def test_every_provider_is_asked_for_what_guards_a_repeat_of_its_calls() -> None:
    guards = {operation: fake_bench(operation).guard for operation in _FAKES}

    for guard, asked in ((Guard.KEY, _WITH_KEYS), (Guard.OBJECT, _WITH_OBJECT_KEYS)):
        assert {name for name in guards if guards[name] is guard} == set(asked) & set(_FAKES)


def test_every_adapter_declares_the_contract_listed_under_its_name() -> None:
    declared = [fake_bench(operation).provider.contract for operation in _FAKES]

    assert {contract.provider: contract for contract in declared} == dict(CONTRACTS)
