"""What a read that follows a confirmation writes down, and where there is nobody to ask."""

import pytest

from ledger.attempt import AttemptOutcome
from ledger.due import read_wait_seconds
from ledger.event import EventKind
from ledger.provider import Findings, ProviderCall
from ledger.recheck import MAX_FAILED_RECHECKS, note_unreadable, recheck_confirmed
from ledger.transitions import EffectState
from tests.builders import an_attempt
from tests.unit.ledger.desk import facts_of
from tests.unit.ledger.sample import (
    NO_ANSWER,
    OPERATOR,
    PAYMENTS,
    RECEIPT_ID,
    REFUND_ID,
    RUN_ID,
)
from tests.unit.ledger.support import World, an_approved_world, given, wait_until_due

DAY_SECONDS = 24 * 3600


def a_confirmed_world() -> World:
    """Return a world whose refund is to be read again after a day and after five."""
    world = an_approved_world()
    world.payments.contract = PAYMENTS.model_copy(
        update={"rechecks_after_seconds": (DAY_SECONDS, 5 * DAY_SECONDS)}
    )
    world.perform()
    world.perform("receipt")
    world.resume()
    return world


def test_given_a_confirmed_refund_when_shown_then_an_operator_sees_when_it_is_read_again() -> None:
    world = a_confirmed_world()
    confirmed_at_ms = world.clock.now_ms()

    (refund, receipt) = facts_of(world).effects

    assert refund.recheck_at_ms == confirmed_at_ms + DAY_SECONDS * 1000
    assert receipt.recheck_at_ms is None


def test_given_a_read_that_is_owed_when_made_then_the_trail_says_of_which_effect() -> None:
    world = a_confirmed_world()
    given(world, world.effect().model_copy(update={"reconcile_reads": 3}))
    wait_until_due(world)

    world.sweep()

    event = world.events[-1]
    assert event.kind == EventKind.RECHECKED
    assert event.subject == REFUND_ID
    assert (event.prior_state, event.state) == (EffectState.CONFIRMED, EffectState.CONFIRMED)
    assert world.effect().reconcile_reads == 0


def test_given_a_read_that_cannot_be_made_when_noted_then_the_next_one_waits_longer() -> None:
    world = a_confirmed_world()

    note_unreadable(world.ports, RUN_ID, world.effect(), OPERATOR, "no answer")

    effect = world.effect()
    assert effect.reconcile_reads == 1
    assert effect.recheck_not_before_ms == world.clock.now_ms() + read_wait_seconds(effect) * 1000
    event = world.events[-1]
    assert (event.kind, event.reason) == (EventKind.RECONCILE_READ_FAILED, "no answer")
    assert event.subject == REFUND_ID
    assert (event.prior_state, event.state) == (EffectState.CONFIRMED, EffectState.CONFIRMED)


@pytest.mark.parametrize(("failed", "given_up"), [(2, False), (1, True)])
def test_given_the_last_read_that_may_fail_when_it_does_then_the_one_after_it_begins_anew(
    failed: int, given_up: bool
) -> None:
    world = a_confirmed_world()
    reads = MAX_FAILED_RECHECKS - failed
    given(world, world.effect().model_copy(update={"reconcile_reads": reads}))

    note_unreadable(world.ports, RUN_ID, world.effect(), OPERATOR, "no answer")

    effect = world.effect()
    assert (effect.reconcile_reads, effect.rechecks_made) == (
        (0, 1) if given_up else (reads + 1, 0)
    )
    assert (world.kinds[-1] is EventKind.RECHECK_MISSED) is given_up


def test_given_a_confirmed_refund_when_read_again_then_the_write_that_was_made_is_asked_about(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = a_confirmed_world()
    asked: list[ProviderCall] = []

    def look_up(call: ProviderCall) -> Findings:
        asked.append(call)
        return Findings(records=tuple(world.payments.held), complete=True)

    monkeypatch.setattr(world.payments, "look_up", look_up)

    assert recheck_confirmed(world.ports, RUN_ID, world.effect(), OPERATOR)
    assert asked == world.payments.calls


def test_given_a_mail_when_read_again_then_there_is_nobody_to_ask_and_it_holds() -> None:
    world = a_confirmed_world()
    world.post.read_fault = NO_ANSWER

    assert recheck_confirmed(world.ports, RUN_ID, world.effect(RECEIPT_ID), OPERATOR)


def test_given_a_mail_that_was_in_doubt_once_when_sent_then_nobody_is_asked_before() -> None:
    world = an_approved_world()
    world.perform()
    world.perform("receipt")
    receipt = world.effect(RECEIPT_ID)
    lost = an_attempt(outcome=AttemptOutcome.ABSENT)
    given(
        world,
        receipt.model_copy(update={"state": EffectState.PLANNED, "attempts": (lost,)}),
    )

    assert world.perform("receipt").state is EffectState.CONFIRMED
    assert world.post.look_ups == 0
