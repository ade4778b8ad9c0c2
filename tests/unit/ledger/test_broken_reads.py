"""A read that breaks (a bug, a provider that is gone) is noted, told in time, and hides nothing."""

from dataclasses import replace

import pytest

from ledger.effect import Effect
from ledger.event import EventKind
from ledger.sweep import sweep_run
from ledger.transitions import EffectState, RunState
from tests.unit.ledger.desk import facts_of
from tests.unit.ledger.notices import fails_later, lands
from tests.unit.ledger.sample import PAYMENTS, RECOVERY_DEADLINE_SECONDS, RUN_ID
from tests.unit.ledger.support import (
    World,
    an_approved_world,
    an_unknown_world,
    given,
    wait_until_due,
)

DAY_SECONDS = 24 * 3600
BROKEN = "the read broke: KeyError"


def breaks() -> None:
    raise KeyError("customer_id")


def sweeps_in(world: World, seconds: int, *, without_payments: bool = False) -> int:
    """Return how many sweeps fail within a time."""
    ports = world.ports
    if without_payments:
        ports = replace(ports, providers={"post": world.post})
    end_ms = world.clock.now_ms() + seconds * 1000
    sweeps = 0
    while (world.run().due_at_ms or end_ms) < end_ms:
        wait_until_due(world)
        with pytest.raises(KeyError):
            sweep_run(ports, RUN_ID)
        sweeps += 1
    return sweeps


@pytest.mark.parametrize("gone", [False, True], ids=["a bug", "a provider that is gone"])
def test_an_effect_whose_reads_break_is_read_ever_more_seldom_and_told_at_its_deadline(
    gone: bool,
) -> None:
    world = an_unknown_world()
    if not gone:
        world.payments.during_look_up = breaks
    since_ms = world.effect().unsettled_since_ms
    assert since_ms is not None

    sweeps = sweeps_in(world, DAY_SECONDS, without_payments=gone)

    assert 0 < sweeps <= 20
    assert [event.reason for event in world.events].count(BROKEN) == sweeps
    assert world.effect().state is EffectState.UNKNOWN
    assert world.effect().overdue
    assert world.run().state is RunState.REVIEW
    assert f"past its deadline: {BROKEN}" in facts_of(world).review_reason
    (told,) = [event for event in world.events if event.kind == EventKind.EFFECT_OVERDUE]
    assert told.at_ms >= since_ms + RECOVERY_DEADLINE_SECONDS * 1000
    assert len(world.payments.calls) == 1


def test_an_overdue_effect_whose_reads_are_mended_is_found_and_the_run_goes_on() -> None:
    world = an_unknown_world()
    world.payments.during_look_up = breaks
    sweeps_in(world, DAY_SECONDS)
    world.payments.during_look_up = None
    lands(world)

    wait_until_due(world)
    world.sweep()

    assert world.effect().state is EffectState.CONFIRMED
    assert world.run().state is RunState.ACTIVE


def a_world_with_a_broken_effect() -> World:
    """Return an approved world in which another confirmed effect, read first, breaks."""
    world = an_approved_world()
    world.payments.contract = PAYMENTS.model_copy(update={"rechecks_after_seconds": (DAY_SECONDS,)})
    world.perform()
    world.post.contract = PAYMENTS.model_copy(update={"provider": "post"})
    world.post.during_look_up = breaks
    return world


def broken_effect(world: World) -> Effect:
    return world.effect().model_copy(
        update={"effect_id": "eff_000", "operation": "other", "provider": "post"}
    )


def test_a_re_read_that_breaks_does_not_hide_those_behind_it() -> None:
    world = a_world_with_a_broken_effect()
    given(world, broken_effect(world), state=RunState.COMPLETED)
    assert world.ledger.effects[0].effect_id == "eff_000"
    fails_later(world)
    wait_until_due(world)

    with pytest.raises(KeyError):
        world.sweep()

    assert world.effect().state is EffectState.CONTRADICTED
    assert world.run().state is RunState.REVIEW
    assert world.effect("eff_000").reconcile_reads == 1


def test_a_re_read_that_breaks_does_not_keep_an_open_run_from_being_looked_after() -> None:
    world = a_world_with_a_broken_effect()
    given(world, broken_effect(world))
    refund = world.effect().model_copy(
        update={"state": EffectState.UNKNOWN, "unsettled_since_ms": world.clock.now_ms()}
    )
    world.pass_seconds(DAY_SECONDS)
    given(world, refund)
    wait_until_due(world)

    with pytest.raises(KeyError):
        world.sweep()

    assert world.effect().state is EffectState.CONFIRMED
    assert BROKEN in [event.reason for event in world.events]
