"""What is asked of a target before a write, and which write a stage makes."""

from collections.abc import Mapping

import pytest

from ledger.perform import perform_stage
from ledger.provider import Authority
from ledger.record import Scalar
from ledger.transitions import EffectState
from tests.fakes.clock import FakeTimeLeft
from tests.unit.ledger.sample import BOUND, DEFINITION, TASK
from tests.unit.ledger.scripted_provider import ScriptedProvider
from tests.unit.ledger.support import World, an_approved_world


def asked_of(
    provider: ScriptedProvider, monkeypatch: pytest.MonkeyPatch
) -> list[tuple[dict[str, Scalar], dict[str, str]]]:
    """Return the list to which every question about authority will be added."""
    asked: list[tuple[dict[str, Scalar], dict[str, str]]] = []

    def authority(bound: Mapping[str, Scalar], personal: Mapping[str, str]) -> Authority:
        asked.append((dict(bound), dict(personal)))
        return provider.allowed

    monkeypatch.setattr(provider, "authority", authority)
    return asked


def stage(world: World, name: str) -> EffectState:
    """Run a stage by its name."""
    time_left = FakeTimeLeft(world.clock, world.clock.now_ms() + 60_000)
    return perform_stage(world.ports, time_left, DEFINITION, TASK, name).state


def test_given_stages_when_run_by_name_then_each_makes_the_write_that_the_definition_gives_it() -> (
    None
):
    world = an_approved_world()

    assert stage(world, "issue_refund") is EffectState.CONFIRMED
    assert (len(world.payments.calls), len(world.post.calls)) == (1, 0)
    assert stage(world, "send_receipt") is EffectState.CONFIRMED
    assert (len(world.payments.calls), len(world.post.calls)) == (1, 1)


def test_given_a_stage_without_a_write_when_run_then_it_is_a_mistake_of_the_code() -> None:
    with pytest.raises(KeyError, match="performs no operation"):
        stage(an_approved_world(), "ask_customer")


def test_given_a_write_when_its_target_is_asked_then_about_exactly_this(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = an_approved_world()
    refunds = asked_of(world.payments, monkeypatch)
    mails = asked_of(world.post, monkeypatch)

    world.perform()
    receipt = world.perform("receipt")

    assert refunds == [(BOUND, {})]
    assert mails == [(receipt.bound, {"email": "ada@example.com"})]
