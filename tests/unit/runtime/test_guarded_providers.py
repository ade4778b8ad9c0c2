"""A failing provider is left alone by everybody, and nothing about any effect changes by that."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from ledger.breaker import BREAKER_OPEN
from ledger.contract import ErrorClass, FaultKind
from ledger.errors import ProviderUnavailable
from ledger.perform import perform
from ledger.ports import Ports
from ledger.provider import Provider, ProviderCall, ProviderFault
from ledger.reconcile import reconcile_run
from ledger.transitions import EffectState
from providers.contracts import CONTRACTS
from runtime.breaker_budget import Budget
from runtime.guarded_providers import GuardedProviders
from tests.fakes.clock import FakeClock, FakeTimeLeft
from tests.unit.ledger.sample import DEFINITION, PAYMENTS, POST, RUN_ID, TASK
from tests.unit.ledger.scripted_provider import ScriptedProvider
from tests.unit.ledger.support import World, an_approved_world, an_unknown_world
from tests.unit.runtime.counted_breakers import CountedBreakers

LIMITS = PAYMENTS.breaker
CALL = ProviderCall(run_id="run_1", effect_id="eff_1", idempotency_key="key_1", bound={}, params={})
OUTAGES = [
    ProviderFault(FaultKind.NO_ANSWER),
    ProviderFault(FaultKind.NEVER_SENT),
    ProviderFault(FaultKind.ANSWERED, 503),
    ProviderFault(FaultKind.ANSWERED, 429),
    ProviderFault(FaultKind.UNREADABLE, 502),
]
NO_OUTAGES = [
    ProviderFault(FaultKind.ANSWERED, 402, "card_declined"),
    ProviderFault(FaultKind.ANSWERED, 404),
    ProviderFault(FaultKind.UNREADABLE),
    ProviderFault(FaultKind.UNREADABLE, 200),
]


class Bank(ScriptedProvider):
    """A provider that answers, or fails in the same way each time."""

    fault: ProviderFault | None = None
    asked: int = 0

    def look_up(self, call: ProviderCall) -> Any:
        self.asked += 1
        if self.fault:
            raise self.fault
        return super().look_up(call)

    def authority(self, bound: Any, personal: Any) -> Any:
        self.asked += 1
        if self.fault:
            raise self.fault
        return super().authority(bound, personal)


class Outside:
    """One provider and its breaker, with as many processes in front of them as are asked for."""

    def __init__(self, contract: Any = PAYMENTS, clock: FakeClock | None = None) -> None:
        self.clock = clock or FakeClock()
        self.breakers = CountedBreakers()
        self.bank = Bank(contract)

    def process(self, *, holds_back: bool = True) -> Provider:
        """Return the provider as another process has it."""
        budget = Budget(self.breakers, self.clock)
        return GuardedProviders({"payments": self.bank}, budget, holds_back=holds_back)["payments"]

    def break_down(self, fault: ProviderFault = OUTAGES[0]) -> None:
        """Let the provider fail, and everybody notice."""
        self.bank.fault = fault
        provider = self.process()
        for number in range(LIMITS.failures):
            with pytest.raises(ProviderFault):
                provider.look_up(a_call(number))
        self.bank.asked = 0

    def wait_until_probed(self) -> None:
        self.clock.pass_ms(LIMITS.open_seconds * 1000)


def a_call(number: int) -> ProviderCall:
    """Return a call for a write of its own."""
    return CALL.model_copy(update={"bound": {"charge_id": f"ch_{number}"}})


def held_back(act: Callable[[], object]) -> bool:
    """Return whether a call was held back; other faults count as passed."""
    try:
        act()
    except ProviderFault as fault:
        return fault.code == BREAKER_OPEN
    return False


@pytest.mark.parametrize("fault", OUTAGES, ids=str)
def test_given_a_provider_that_serves_nobody_when_noticed_then_no_process_asks_it(
    fault: ProviderFault,
) -> None:
    outside = Outside()
    outside.break_down(fault)

    for _ in range(3):
        process = outside.process()
        assert held_back(lambda process=process: process.look_up(CALL))  # type: ignore[misc]
        assert held_back(lambda process=process: process.authority({}, {}))  # type: ignore[misc]

    assert outside.bank.asked == 0


@pytest.mark.parametrize("fault", NO_OUTAGES, ids=str)
def test_given_a_provider_that_refuses_when_asked_often_then_it_is_asked_every_time(
    fault: ProviderFault,
) -> None:
    outside = Outside()
    outside.bank.fault = fault
    provider = outside.process()

    assert not any(held_back(lambda: provider.look_up(CALL)) for _ in range(20))
    assert outside.bank.asked == 20
    assert outside.breakers.saves == 0


def test_given_one_write_that_is_repeated_and_fails_when_others_ask_then_they_may() -> None:
    outside = Outside()
    outside.bank.fault = OUTAGES[2]
    bound = {"charge_id": "ch_1"}
    call = CALL.model_copy(update={"bound": bound})
    provider = outside.process()

    for _ in range(LIMITS.failures * 2):
        assert not held_back(lambda: provider.authority(bound, {}))
        assert not held_back(lambda: provider.look_up(call))

    assert not held_back(lambda: outside.process().look_up(a_call(2)))
    stored = outside.breakers.inner.load("payments")
    assert stored is not None
    assert len(stored.failing) == 2
    assert "ch_1" not in stored.model_dump_json()


def test_given_what_is_held_back_when_classified_then_every_contract_says_not_reached() -> None:
    for contract in CONTRACTS.values():
        assert contract.classify(FaultKind.NEVER_SENT, None, BREAKER_OPEN) is ErrorClass.NOT_REACHED


def test_given_an_open_breaker_when_its_time_is_over_then_one_process_probes_at_a_time() -> None:
    outside = Outside()
    outside.break_down()
    outside.bank.fault = None
    outside.wait_until_probed()
    second = outside.process()
    during: list[bool] = []
    answer = outside.bank.look_up

    def slow(call: ProviderCall) -> object:
        during.append(held_back(lambda: second.look_up(CALL)))
        return answer(call)

    outside.bank.look_up = slow  # type: ignore[method-assign]
    assert not held_back(lambda: outside.process().look_up(CALL))

    assert during == [True]
    assert outside.bank.asked == 1


def test_given_a_provider_that_is_back_when_probed_often_enough_then_everybody_may_ask() -> None:
    outside = Outside()
    outside.break_down()
    outside.bank.fault = None
    outside.wait_until_probed()
    provider = outside.process()

    for _ in range(LIMITS.probes):
        provider.look_up(CALL)

    stored = outside.breakers.inner.load("payments")
    assert stored is not None
    assert stored.open_until_ms is None
    assert not held_back(lambda: outside.process().look_up(CALL))


def test_given_a_probe_that_is_refused_when_that_is_all_then_it_was_answered_as_well() -> None:
    outside = Outside()
    outside.break_down()
    outside.bank.fault = NO_OUTAGES[0]
    outside.wait_until_probed()
    provider = outside.process()

    for _ in range(LIMITS.probes):
        assert not held_back(lambda: provider.look_up(CALL))

    stored = outside.breakers.inner.load("payments")
    assert stored is not None
    assert stored.open_until_ms is None


def test_given_a_probe_that_fails_when_others_ask_then_they_wait_as_long_again() -> None:
    outside = Outside()
    outside.break_down()
    outside.wait_until_probed()

    assert not held_back(lambda: outside.process().look_up(CALL))
    assert held_back(lambda: outside.process().look_up(CALL))
    outside.wait_until_probed()
    assert not held_back(lambda: outside.process().look_up(CALL))
    assert outside.bank.asked == 2


def test_given_a_person_who_asks_by_hand_when_it_is_open_then_they_are_not_held_back() -> None:
    outside = Outside()
    outside.break_down()

    assert not held_back(lambda: outside.process(holds_back=False).look_up(CALL))
    assert outside.bank.asked == 1


def test_given_a_write_whose_claim_is_on_record_when_it_is_open_then_it_is_made() -> None:
    outside = Outside()
    outside.break_down()

    outside.process().call(CALL)

    assert len(outside.bank.calls) == 1


def test_given_authority_read_elsewhere_when_that_fails_then_this_provider_is_not_blamed() -> None:
    outside = Outside(POST)
    outside.bank.fault = OUTAGES[0]
    provider = outside.process()

    for _ in range(20):
        assert not held_back(lambda: provider.authority({}, {}))

    assert outside.breakers.saves == 0


def test_given_authority_read_elsewhere_when_the_breaker_is_open_then_it_is_held_back_too() -> None:
    outside = Outside(POST)
    outside.break_down()

    assert held_back(lambda: outside.process().authority({}, {}))
    assert outside.bank.asked == 0


def left_alone(world: World) -> Ports:
    """Return the world's ports with an open breaker before its payments."""
    outside = Outside(clock=world.clock)
    outside.break_down()
    budget = Budget(outside.breakers, world.clock)
    return replace(world.ports, providers=GuardedProviders(world.ports.providers, budget))


def test_given_an_open_breaker_when_a_stage_comes_then_nothing_is_claimed_and_nothing_is_sent() -> (
    None
):
    world = an_approved_world()
    ports = left_alone(world)

    left = FakeTimeLeft(world.clock, world.clock.now_ms() + 60_000)
    with pytest.raises(ProviderUnavailable, match="nothing was sent"):
        perform(ports, left, DEFINITION, TASK, "refund")

    assert world.ledger.effects == ()
    assert world.payments.calls == []


def test_given_an_open_breaker_when_an_unknown_effect_is_due_then_it_stays_unknown() -> None:
    world = an_unknown_world()
    ports = left_alone(world)
    before = world.effect()

    reconcile_run(ports, RUN_ID, TASK.actor)

    after = world.effect()
    assert after.state is EffectState.UNKNOWN
    assert after.absence_reads_at_ms == ()
    assert after.attempts == before.attempts
    assert world.payments.look_ups == 0
