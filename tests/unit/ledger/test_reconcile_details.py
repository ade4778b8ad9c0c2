"""What a read asks about, how long the next one waits, and what proven absence leaves behind."""

import pytest

from ledger.errors import EffectUnknown
from ledger.event import EventKind
from ledger.provider import Findings, ProviderCall
from ledger.sweep import sweep_run
from ledger.transitions import EffectState, RunState
from tests.builders import an_attempt
from tests.unit.ledger.sample import (
    LEASE_SECONDS,
    NO_ANSWER,
    RECOVERY_DEADLINE_SECONDS,
    REFUND_ID,
    RUN_ID,
    SETTLE_WINDOW_SECONDS,
    a_refund,
)
from tests.unit.ledger.scripted_provider import Step
from tests.unit.ledger.situations import refund_accepted, refund_attempting, refund_unknown
from tests.unit.ledger.support import World, an_approved_world, an_unknown_world, given


def test_given_an_unknown_refund_when_read_then_the_write_that_was_made_is_asked_about(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = refund_unknown()
    asked: list[ProviderCall] = []

    def look_up(call: ProviderCall) -> Findings:
        asked.append(call)
        return Findings(records=tuple(world.payments.held), complete=True)

    monkeypatch.setattr(world.payments, "look_up", look_up)

    world.reconcile()

    assert asked == world.payments.calls


def test_given_an_accepted_record_that_does_not_show_yet_when_read_then_the_read_is_noted() -> None:
    world = refund_accepted()
    world.payments.held.clear()
    world.pass_seconds(LEASE_SECONDS)

    world.reconcile()

    assert world.effect().state is EffectState.ACCEPTED
    assert world.effect().reconcile_reads == 1
    assert world.kinds[-1] is EventKind.RECONCILE_READ


def test_given_an_overdue_refund_when_its_absence_is_proven_then_nothing_is_overdue_any_more() -> (
    None
):
    world = an_unknown_world()
    world.payments.read_fault = NO_ANSWER
    world.pass_seconds(RECOVERY_DEADLINE_SECONDS)
    world.reconcile()
    assert (world.run().state, world.effect().overdue) == (RunState.REVIEW, True)
    world.payments.read_fault = None

    world.reconcile()
    world.pass_seconds(SETTLE_WINDOW_SECONDS)
    world.reconcile()

    effect = world.effect()
    now_ms = world.clock.now_ms()
    assert (effect.state, effect.overdue) == (EffectState.PLANNED, False)
    assert effect.absence_reads_at_ms == (now_ms - SETTLE_WINDOW_SECONDS * 1000, now_ms)
    assert world.run().state is RunState.ACTIVE
    assert "complete reads" in world.events[-1].reason


@pytest.mark.parametrize(
    ("left_ms", "wait_seconds"), [(LEASE_SECONDS * 1000, 35), (34_001, 35), (34_000, 34), (1, 1)]
)
def test_given_a_live_claim_when_read_then_the_wait_ends_with_it_and_not_before(
    left_ms: int, wait_seconds: int
) -> None:
    world = refund_attempting()
    world.payments.held.clear()
    world.clock.pass_ms(LEASE_SECONDS * 1000 - left_ms)

    assert world.reconcile().wait_seconds == wait_seconds


@pytest.mark.parametrize(
    ("passed_ms", "wait_seconds"), [(0, 60), (1, 60), (1000, 59), (58_999, 2), (59_001, 1)]
)
def test_given_a_first_read_that_found_nothing_when_read_then_the_wait_is_the_rest_of_the_window(
    passed_ms: int, wait_seconds: int
) -> None:
    world = an_unknown_world()
    world.reconcile()
    world.clock.pass_ms(passed_ms)

    assert world.reconcile().wait_seconds == wait_seconds


def breaks() -> None:
    raise KeyError("customer_id")


def broken_sweep(world: World) -> None:
    """Let a sweep meet a read that breaks."""
    world.payments.during_look_up = breaks
    with pytest.raises(KeyError):
        sweep_run(world.ports, RUN_ID)


def test_given_a_worker_that_died_when_its_read_breaks_then_the_refund_is_unknown_and_told_so() -> (
    None
):
    world = refund_attempting()
    world.pass_seconds(LEASE_SECONDS)

    broken_sweep(world)

    assert world.effect().state is EffectState.UNKNOWN
    assert world.effect().reconcile_reads == 1
    assert world.events[-1].reason == "the read broke: KeyError"
    assert world.events[-1].subject == REFUND_ID


def test_given_a_refund_that_was_claimed_while_a_read_broke_when_noted_then_it_is_left_alone() -> (
    None
):
    world = refund_unknown()

    def claimed_meanwhile() -> None:
        lease_until_ms = world.clock.now_ms() + LEASE_SECONDS * 1000
        attempt = an_attempt(attempt_id="attempt-2", number=2, lease_until_ms=lease_until_ms)
        given(world, a_refund(EffectState.ATTEMPTING, attempts=(attempt,)))
        breaks()

    world.payments.during_look_up = claimed_meanwhile
    with pytest.raises(KeyError):
        sweep_run(world.ports, RUN_ID)

    assert world.effect().state is EffectState.ATTEMPTING
    assert world.effect().reconcile_reads == 0


def test_given_a_refund_that_changed_while_a_read_broke_when_noted_then_it_is_left_alone() -> None:
    world = refund_unknown()

    def overdue_meanwhile() -> None:
        given(world, world.effect().model_copy(update={"overdue": True}))
        breaks()

    world.payments.during_look_up = overdue_meanwhile
    with pytest.raises(KeyError):
        sweep_run(world.ports, RUN_ID)

    assert world.effect().reconcile_reads == 0


def test_given_a_lost_answer_when_the_lease_has_not_ended_then_no_absence_is_counted() -> None:
    world = an_approved_world()
    world.payments.script = [Step(None, NO_ANSWER)]
    with pytest.raises(EffectUnknown):
        world.perform()

    world.reconcile()

    assert world.effect().state is EffectState.UNKNOWN
