"""A run that has ended is looked after while an owner may still take its word back."""

import pytest

from ledger.contract import FaultKind
from ledger.event import EventKind
from ledger.provider import ProviderFault, RecordStatus
from ledger.recheck import MAX_FAILED_RECHECKS
from ledger.sweep import SweepResult
from ledger.transitions import EffectState, RunState
from tests.unit.ledger.desk import facts_of, told
from tests.unit.ledger.sample import PAYMENTS
from tests.unit.ledger.support import World, an_approved_world, given, wait_until_due

DAY_SECONDS = 24 * 3600
RECHECKS_AFTER_SECONDS = (1 * DAY_SECONDS, 5 * DAY_SECONDS)
UNREADABLE = ProviderFault(FaultKind.NO_ANSWER)


def a_completed_world() -> World:
    world = an_approved_world()
    world.payments.contract = PAYMENTS.model_copy(
        update={"rechecks_after_seconds": RECHECKS_AFTER_SECONDS}
    )
    world.perform()
    world.perform("receipt")
    world.resume()
    assert world.run().state is RunState.COMPLETED
    return world


def confirmed_at_ms(world: World) -> int:
    evidence = world.effect().evidence
    assert evidence is not None
    return evidence.read_at_ms


def let_it_fail(world: World) -> None:
    (made,) = world.payments.held
    world.payments.held = [
        made.model_copy(update={"status": RecordStatus.FAILED, "provider_status": "failed"})
    ]


def test_a_completed_run_is_due_when_its_refund_is_to_be_read_again() -> None:
    world = a_completed_world()

    assert world.run().due_at_ms == confirmed_at_ms(world) + DAY_SECONDS * 1000


def test_a_run_without_anything_that_could_be_taken_back_is_never_due_again() -> None:
    world = an_approved_world()
    world.perform()
    world.perform("receipt")
    world.resume()

    assert world.run().due_at_ms is None


def test_a_refund_that_still_stands_is_read_as_often_as_its_contract_says_and_no_more() -> None:
    world = a_completed_world()
    first_ms = confirmed_at_ms(world)
    looks_before = world.payments.look_ups

    wait_until_due(world)
    assert world.sweep() is SweepResult.RECHECKED
    assert world.run().due_at_ms == first_ms + 5 * DAY_SECONDS * 1000
    wait_until_due(world)
    assert world.sweep() is SweepResult.RECHECKED

    assert world.run().due_at_ms is None
    assert world.payments.look_ups == looks_before + 2
    assert world.kinds.count(EventKind.RECHECKED) == 2
    assert world.effect().state is EffectState.CONFIRMED
    assert world.run().state is RunState.COMPLETED


def test_a_refund_that_failed_after_it_had_succeeded_reopens_the_run_for_review() -> None:
    world = a_completed_world()
    let_it_fail(world)
    wait_until_due(world)

    assert world.sweep() is SweepResult.REVIEW

    assert world.effect().state is EffectState.CONTRADICTED
    assert world.run().state is RunState.REVIEW
    assert "refund was confirmed, and now: the provider says failed" in world.run().review_reason
    assert len(world.payments.calls) == 1


def test_a_provider_that_cannot_be_read_is_asked_again_ever_more_seldom() -> None:
    world = a_completed_world()
    world.payments.read_fault = UNREADABLE
    waits_ms = []

    for _ in range(9):
        wait_until_due(world)
        assert world.sweep() is SweepResult.WAITING
        due_at_ms = world.run().due_at_ms
        assert due_at_ms is not None
        waits_ms.append(due_at_ms - world.clock.now_ms())
    world.payments.read_fault = None
    wait_until_due(world)

    assert sum(waits_ms[:3]) < sum(waits_ms[3:6]) < sum(waits_ms[6:])
    assert world.sweep() is SweepResult.RECHECKED
    assert world.effect().rechecks_made == 1
    assert world.effect().reconcile_reads == 0


def test_a_read_that_cannot_be_made_for_days_is_given_up_for_the_one_after_it() -> None:
    world = a_completed_world()
    first_ms = confirmed_at_ms(world)
    world.payments.read_fault = UNREADABLE

    for _ in range(MAX_FAILED_RECHECKS):
        wait_until_due(world)
        assert world.sweep() is SweepResult.WAITING

    assert world.effect().rechecks_made == 1
    assert world.run().due_at_ms == first_ms + 5 * DAY_SECONDS * 1000
    assert world.effect().state is EffectState.CONFIRMED
    assert EventKind.RECHECKED not in world.kinds


def test_a_read_before_its_time_does_not_count_as_one_of_those_that_are_owed() -> None:
    world = a_completed_world()
    world.pass_seconds(60)

    assert world.sweep() is SweepResult.SKIPPED

    assert world.effect().rechecks_made == 0


@pytest.mark.parametrize("page_is_missing", [True, False])
def test_an_incomplete_read_contradicts_nothing(page_is_missing: bool) -> None:
    world = a_completed_world()
    world.payments.held = []
    world.payments.every_page = not page_is_missing
    wait_until_due(world)

    world.sweep()

    expected = EffectState.CONFIRMED if page_is_missing else EffectState.CONTRADICTED
    assert world.effect().state is expected
    assert world.effect().rechecks_made == 0


def test_a_read_that_could_not_see_every_page_is_no_read_and_is_made_again() -> None:
    world = a_completed_world()
    world.payments.every_page = False
    held, world.payments.held = world.payments.held, []
    wait_until_due(world)

    assert world.sweep() is SweepResult.WAITING

    assert world.events[-1].kind == EventKind.RECONCILE_READ_FAILED
    assert world.events[-1].reason == "payments: not every page could be read."
    assert EventKind.RECHECKED not in world.kinds
    world.payments.every_page, world.payments.held = True, held
    wait_until_due(world)
    assert world.sweep() is SweepResult.RECHECKED
    assert world.effect().rechecks_made == 1


def an_open_world() -> World:
    """Return a run whose refund is confirmed and which somebody has been looking at since."""
    world = an_approved_world()
    world.payments.contract = PAYMENTS.model_copy(
        update={"rechecks_after_seconds": RECHECKS_AFTER_SECONDS}
    )
    world.perform()
    world.pass_seconds(3600)
    world.change(lambda draft: draft.send_to_review("a person asked"))
    return world


def test_a_refund_of_a_run_that_is_still_open_is_read_again_when_it_is_owed() -> None:
    world = an_open_world()

    assert world.run().due_at_ms == confirmed_at_ms(world) + DAY_SECONDS * 1000
    wait_until_due(world)
    assert world.sweep() is SweepResult.REVIEW

    assert world.kinds.count(EventKind.RECHECKED) == 1
    assert world.effect().rechecks_made == 1
    assert world.effect().state is EffectState.CONFIRMED
    assert world.run().review_also == ()


def test_a_refund_that_failed_while_its_run_was_still_open_is_told_to_who_looks() -> None:
    world = an_open_world()
    let_it_fail(world)
    wait_until_due(world)

    assert world.sweep() is SweepResult.REVIEW

    assert world.effect().state is EffectState.CONTRADICTED
    assert facts_of(world).review_reason == "a person asked"
    assert facts_of(world).review_also == (
        "refund was confirmed, and now: the provider says failed",
    )
    assert facts_of(world).effects[0].recheck_at_ms is None
    assert told(world).effects[0].status == "being reviewed"


def test_a_refund_that_can_never_be_read_again_is_given_up_and_the_operator_is_told() -> None:
    world = a_completed_world()
    world.payments.read_fault = ProviderFault(FaultKind.ANSWERED, 404, "resource_missing")
    looks = 0

    while world.run().due_at_ms is not None and looks < 1000:
        wait_until_due(world)
        assert world.sweep() is SweepResult.WAITING
        looks += 1

    assert looks == MAX_FAILED_RECHECKS * len(RECHECKS_AFTER_SECONDS)
    assert world.kinds.count(EventKind.RECHECK_MISSED) == len(RECHECKS_AFTER_SECONDS)
    assert EventKind.RECHECKED not in world.kinds
    (refund, *_) = facts_of(world).effects
    assert refund.recheck_at_ms is None
    assert refund.remarks == (
        "a scheduled read could not be made for days: whether it still stands was not seen",
    )
    assert refund.state is EffectState.CONFIRMED
    assert world.run().state is RunState.COMPLETED


def test_an_effect_that_cannot_be_read_does_not_hide_those_behind_it() -> None:
    world = a_completed_world()
    unreadable = world.effect().model_copy(
        update={"effect_id": "eff_000", "operation": "other", "provider": "post"}
    )
    world.post.contract = PAYMENTS.model_copy(update={"provider": "post"})
    world.post.read_fault = UNREADABLE
    given(world, unreadable)
    assert world.ledger.effects[0].effect_id == "eff_000"
    let_it_fail(world)
    wait_until_due(world)

    assert world.sweep() is SweepResult.REVIEW

    assert world.effect().state is EffectState.CONTRADICTED
    assert world.effect("eff_000").state is EffectState.CONFIRMED
    assert world.effect("eff_000").reconcile_reads == 1


def test_an_effect_that_cannot_be_read_does_not_count_as_still_standing() -> None:
    world = a_completed_world()
    unreadable = world.effect().model_copy(
        update={"effect_id": "eff_000", "operation": "other", "provider": "post"}
    )
    world.post.contract = PAYMENTS.model_copy(update={"provider": "post"})
    world.post.read_fault = UNREADABLE
    given(world, unreadable)
    wait_until_due(world)

    assert world.sweep() is SweepResult.WAITING

    assert world.effect().rechecks_made == 1
    assert world.effect("eff_000").rechecks_made == 0


def test_a_read_that_breaks_is_noted_is_made_ever_more_seldom_and_ends() -> None:
    world = a_completed_world()

    def broken() -> None:
        raise KeyError("customer_id")

    world.payments.during_look_up = broken
    started_at_ms = confirmed_at_ms(world)
    looks = 0

    while world.run().due_at_ms is not None and looks < 1000:
        wait_until_due(world)
        with pytest.raises(KeyError):
            world.sweep()
        looks += 1

    assert looks == MAX_FAILED_RECHECKS * len(RECHECKS_AFTER_SECONDS)
    assert world.clock.now_ms() - started_at_ms > 5 * DAY_SECONDS * 1000
    noted = [event for event in world.events if event.reason == "the read broke: KeyError"]
    assert len(noted) == looks
    assert world.kinds.count(EventKind.RECHECK_MISSED) == len(RECHECKS_AFTER_SECONDS)
    assert world.effect().state is EffectState.CONFIRMED
    assert world.run().state is RunState.COMPLETED
