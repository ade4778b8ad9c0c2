"""A provider is down while several runs need it: it is asked less, and everything ends the same."""

from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from adapters.memory_breakers import MemoryBreakers
from ledger.approval import ApprovalState
from ledger.breaker import Breaker
from ledger.ports import Ports
from ledger.transitions import RunState
from runtime.breaker_budget import Budget
from runtime.guarded_providers import GuardedProviders
from tests.recovery.scenario import finish
from tests.recovery.scenarios.cancel_refund import WANTED
from tests.recovery.world import World

CUSTOMERS = 6
OUTAGE_MS = 10 * 60_000
READS_AND_WRITES = frozenset({"authority", "look_up", "call"})


def join_guarded(world: World, breakers: MemoryBreakers, join: Any, *arguments: Any) -> Ports:
    """Return the ports of a new process, its providers behind breakers that all processes share."""
    ports: Ports = join(*arguments)
    budget = Budget(breakers, world.clock)
    return replace(ports, providers=GuardedProviders(ports.providers, budget))


def a_world(monkeypatch: pytest.MonkeyPatch, breakers: MemoryBreakers | None) -> World:
    """Return a world with several customers who have all said yes."""
    world = World()
    if breakers is not None:
        join = partial(join_guarded, world, breakers, world.outside.join)
        monkeypatch.setattr(world.outside, "join", join)
    for number in range(2, CUSTOMERS + 1):
        names = {"customer_id": "cus_", "subscription_id": "sub_", "charge_id": "ch_"}
        world.add_customer(
            {**WANTED, **{name: f"{prefix}{number}" for name, prefix in names.items()}}
        )
    world.run_until(lambda _: all(found.approvals for found in world.runs()) and asked(world))
    return world


def asked(world: World) -> bool:
    return len(world.runs()) == CUSTOMERS


def calls_in_an_outage(world: World) -> int:
    """Return how often Stripe was asked while it answered nobody."""
    before = len(world.tap.calls)
    world.outside.stripe_reachable = False
    world.run(until_ms=world.clock.now_ms() + OUTAGE_MS)
    world.outside.stripe_reachable = True
    return sum(
        call.port.startswith("stripe_") and call.method in READS_AND_WRITES
        for call in world.tap.calls[before:]
    )


def test_given_an_outage_when_many_runs_meet_it_then_it_is_asked_less_and_each_is_done_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    unguarded = calls_in_an_outage(a_world(monkeypatch, None))
    breakers = MemoryBreakers()
    world = a_world(monkeypatch, breakers)

    guarded = calls_in_an_outage(world)
    finish(world)

    assert 0 < guarded < unguarded
    assert {found.run.state for found in world.runs()} == {RunState.COMPLETED}
    assert len(world.stripe.world.refunds) == CUSTOMERS
    closed = [breakers.load(name) for name in ("stripe_billing", "stripe_refunds")]
    assert all(found is None or found.open_until_ms is None for found in closed)


def test_given_one_run_that_fails_for_long_when_others_come_then_nobody_was_left_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    breakers = MemoryBreakers()
    world = World()
    join = partial(join_guarded, world, breakers, world.outside.join)
    monkeypatch.setattr(world.outside, "join", join)
    world.run_until(
        lambda ledger: (
            bool(ledger.approvals) and ledger.approvals[0].state is ApprovalState.APPROVED
        )
    )
    opened: list[str] = []
    save = breakers.save

    def watched(breaker: Breaker) -> bool:
        opened.extend([breaker.provider] if breaker.open_until_ms else [])
        return save(breaker)

    monkeypatch.setattr(breakers, "save", watched)

    assert calls_in_an_outage(world) > CUSTOMERS
    finish(world)

    assert opened == []
    assert len(world.stripe.world.refunds) == 1
