"""Unsettled for too long: somebody is told once, and nothing is decided by age."""

import pytest

from ledger.errors import EffectUnknown
from ledger.event import EventKind
from ledger.provider import RecordStatus
from ledger.reconcile import Standing
from ledger.transitions import EffectState, RunState
from tests.unit.ledger.sample import (
    LEASE_SECONDS,
    NO_ANSWER,
    PENDING_DEADLINE_SECONDS,
    RECEIPT_ID,
    RECOVERY_DEADLINE_SECONDS,
    SETTLE_WINDOW_SECONDS,
    a_record,
    a_refund,
)
from tests.unit.ledger.scripted_provider import Step
from tests.unit.ledger.support import an_approved_world, an_unknown_world, given


def test_an_unknown_effect_past_its_deadline_is_told_once_and_stays_unknown() -> None:
    world = an_unknown_world()
    world.payments.read_fault = NO_ANSWER
    world.pass_seconds(RECOVERY_DEADLINE_SECONDS - LEASE_SECONDS - 1)
    assert world.reconcile().standing is Standing.WAIT
    assert not world.effect().overdue
    world.pass_seconds(1)

    for _ in range(3):
        assert world.reconcile().standing is Standing.REVIEW
        world.pass_seconds(24 * 3600)

    assert world.effect().state is EffectState.UNKNOWN
    assert world.effect().overdue
    assert world.kinds.count(EventKind.EFFECT_OVERDUE) == 1
    assert world.kinds.count(EventKind.KEY_LAPSING) == 1  # by itself, a day later
    assert world.kinds.count(EventKind.REVIEW_REQUIRED) == 2


@pytest.mark.parametrize("found", [RecordStatus.DONE, RecordStatus.PENDING])
def test_a_review_for_an_overdue_effect_ends_by_itself_when_the_record_is_found(
    found: RecordStatus,
) -> None:
    world = an_unknown_world(made=found)
    world.payments.read_fault = NO_ANSWER
    world.pass_seconds(RECOVERY_DEADLINE_SECONDS)
    world.reconcile()
    assert world.run().state is RunState.REVIEW
    world.payments.read_fault = None

    world.reconcile()

    assert world.run().state is RunState.ACTIVE
    assert world.run().review_reason == ""
    assert not world.effect().overdue


def test_a_review_for_an_overdue_effect_ends_by_itself_when_absence_is_proven() -> None:
    world = an_unknown_world()
    world.pass_seconds(RECOVERY_DEADLINE_SECONDS)
    world.reconcile()
    assert world.run().state is RunState.REVIEW
    world.pass_seconds(SETTLE_WINDOW_SECONDS)

    world.reconcile()

    assert world.effect().state is EffectState.PLANNED
    assert world.run().state is RunState.ACTIVE


def test_a_review_waits_for_the_last_of_several_overdue_effects() -> None:
    world = an_unknown_world(made=RecordStatus.DONE)
    other = a_refund(
        EffectState.UNKNOWN,
        effect_id="eff_other",
        operation="other",
        provider="post",
        unsettled_since_ms=0,
    )
    given(world, other)
    world.payments.read_fault = NO_ANSWER
    world.pass_seconds(RECOVERY_DEADLINE_SECONDS)
    world.reconcile()
    world.payments.read_fault = None

    world.reconcile()

    assert world.effect().state is EffectState.CONFIRMED
    assert world.run().state is RunState.REVIEW


def test_a_review_for_another_reason_does_not_end_by_itself() -> None:
    world = an_unknown_world(made=RecordStatus.DONE)
    world.change(lambda draft: draft.send_to_review("a person asked"))

    world.reconcile()

    assert world.effect().state is EffectState.CONFIRMED
    assert world.run().state is RunState.REVIEW


def test_a_conflict_found_in_an_overdue_review_makes_it_a_persons_question() -> None:
    world = an_unknown_world()
    world.payments.read_fault = NO_ANSWER
    world.pass_seconds(RECOVERY_DEADLINE_SECONDS)
    world.reconcile()
    world.payments.read_fault = None
    world.payments.held.append(a_record(mark=None))

    world.reconcile()

    assert world.run().state is RunState.REVIEW
    assert not world.run().review_recovers
    assert "without our mark" in world.run().review_reason


def test_a_pending_record_is_overdue_only_after_the_providers_own_time() -> None:
    world = an_unknown_world(made=RecordStatus.PENDING)
    world.reconcile()
    world.pass_seconds(PENDING_DEADLINE_SECONDS - 1)
    world.reconcile()
    assert world.run().state is RunState.ACTIVE
    world.pass_seconds(1)

    world.reconcile()

    assert world.run().state is RunState.REVIEW
    assert world.effect().state is EffectState.ACCEPTED
    assert world.run().review_recovers


def test_a_mail_that_nobody_can_ask_about_stays_unknown_until_a_person_is_told() -> None:
    world = an_approved_world()
    world.perform()
    world.post.script = [Step(RecordStatus.DONE, NO_ANSWER)]
    with pytest.raises(EffectUnknown):
        world.perform("receipt")
    world.pass_seconds(RECOVERY_DEADLINE_SECONDS)

    outcome = world.reconcile()

    assert outcome.standing is Standing.REVIEW
    assert world.post.look_ups == 0
    assert world.effect(RECEIPT_ID).state is EffectState.UNKNOWN
