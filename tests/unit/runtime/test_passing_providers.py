"""What a decorator of providers gets for nothing, and where it adds what is its own."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, override
from unittest import mock

import pytest

from ledger.contract import FaultKind
from ledger.provider import Intent, Provider, ProviderCall, ProviderFault
from ledger.record import Scalar
from runtime.passing_providers import PassingProvider, PassingProviders

BOUND: dict[str, Scalar] = {"charge_id": "ch_1"}
PERSONAL = {"email": "ada@example.com"}
INTENT = Intent(run_id="run_1", effect_id="eff_1", operation="refund", bound=BOUND)
CALL = ProviderCall(
    run_id="run_1", effect_id="eff_1", idempotency_key="key_1", bound=BOUND, params={}
)
CALLS: dict[str, Callable[[Provider], object]] = {
    "authority": lambda provider: provider.authority(BOUND, PERSONAL),
    "call": lambda provider: provider.call(CALL),
    "look_up": lambda provider: provider.look_up(CALL),
}
PURE: dict[str, Callable[[Provider], object]] = {
    "compose": lambda provider: provider.compose(INTENT),
    "consequence": lambda provider: provider.consequence({"amount": 100}),
}
READS = ("authority", "look_up")


class Noted(PassingProvider):
    """A decorator that notes what happens when, the other provider's part in it included."""

    def __init__(self, fault: ProviderFault | None = None) -> None:
        self.notes: list[object] = []
        self.inner = mock.create_autospec(Provider, instance=True)
        for name in CALLS | PURE:
            method = getattr(self.inner, name)
            method.side_effect = self._noting(name, fault)
        super().__init__(self.inner)

    def _noting(self, name: str, fault: ProviderFault | None) -> Callable[..., object]:
        def noted(*_: object) -> object:
            self.notes.append(name)
            if fault is not None:
                raise fault
            return mock.DEFAULT

        return noted

    @override
    def _before_read(self) -> None:
        self.notes.append("before")

    @override
    @contextmanager
    def _around(self, bound: Mapping[str, Scalar]) -> Iterator[None]:
        self.notes.append(bound)
        try:
            yield
        finally:
            self.notes.append("ended")


class Plain(PassingProvider):
    """A decorator without anything before a read."""

    @override
    @contextmanager
    def _around(self, bound: Mapping[str, Scalar]) -> Iterator[None]:
        yield


@pytest.mark.parametrize("name", CALLS | PURE)
def test_given_a_decorator_when_asked_then_the_same_is_asked_of_the_other_and_its_answer_given(
    name: str,
) -> None:
    act, inner = (CALLS | PURE)[name], mock.create_autospec(Provider, instance=True)
    expected = act(inner)
    inner.reset_mock()

    assert act(Plain(inner)) is expected
    act(inner)
    ours, direct = inner.mock_calls
    assert ours == direct


def test_given_a_decorator_when_judged_then_its_contract_is_that_of_the_other() -> None:
    inner: Any = mock.Mock()

    assert Plain(inner).contract is inner.contract


def test_given_whatever_a_provider_can_be_asked_when_decorated_then_none_is_left_unanswered() -> (
    None
):
    """What a decorator did not pass on, the protocol's own empty method would answer with None."""
    asked = {name for name in vars(Provider) if not name.startswith("_")}

    assert asked == CALLS.keys() | PURE.keys() | {"contract"}
    assert asked <= vars(PassingProvider).keys()


@pytest.mark.parametrize("name", CALLS)
def test_given_a_call_when_made_then_it_is_surrounded_and_a_read_is_preceded(name: str) -> None:
    provider = Noted()

    CALLS[name](provider)

    before = ["before"] if name in READS else []
    assert provider.notes == [*before, BOUND, name, "ended"]


@pytest.mark.parametrize("name", PURE)
def test_given_what_is_pure_when_asked_then_nothing_is_added(name: str) -> None:
    provider = Noted()

    PURE[name](provider)

    assert provider.notes == [name]


@pytest.mark.parametrize("name", CALLS)
def test_given_a_fault_when_a_call_meets_it_then_it_passes_what_surrounds_and_is_raised_on(
    name: str,
) -> None:
    fault = ProviderFault(FaultKind.NO_ANSWER)
    provider = Noted(fault)

    with pytest.raises(ProviderFault) as caught:
        CALLS[name](provider)

    assert caught.value is fault
    assert provider.notes[-2:] == [name, "ended"]


@pytest.mark.parametrize("name", READS)
def test_given_a_read_that_is_held_back_when_made_then_it_is_not_begun(name: str) -> None:
    provider = Noted()
    held_back = ProviderFault(FaultKind.NEVER_SENT)

    with (
        mock.patch.object(provider, "_before_read", side_effect=held_back),
        pytest.raises(ProviderFault) as caught,
    ):
        CALLS[name](provider)

    assert caught.value is held_back
    assert provider.notes == []


class Made(Mapping[str, Provider]):
    """Two providers that are made when they are asked for."""

    def __init__(self) -> None:
        self.made: list[str] = []
        self.held: dict[str, Provider] = {"mail": mock.Mock(), "payments": mock.Mock()}

    @override
    def __getitem__(self, name: str) -> Provider:
        self.made.append(name)
        return self.held[name]

    @override
    def __iter__(self) -> Iterator[str]:
        return iter(self.held)

    @override
    def __len__(self) -> int:
        return len(self.held)


def test_given_providers_that_are_made_when_asked_for_when_listed_then_none_is_made() -> None:
    made = Made()
    providers = PassingProviders(made, Plain)

    assert list(providers) == ["mail", "payments"]
    assert len(providers) == 2
    assert made.made == []


def test_given_one_of_them_when_asked_for_by_name_then_it_alone_is_made_and_wrapped() -> None:
    made = Made()

    provider = PassingProviders(made, Plain)["mail"]

    assert isinstance(provider, Plain)
    assert provider.contract is made.held["mail"].contract
    assert made.made == ["mail"]


def test_given_a_name_that_nobody_has_when_asked_for_then_it_is_missing_here_too() -> None:
    with pytest.raises(KeyError):
        PassingProviders({}, Plain)["mail"]
