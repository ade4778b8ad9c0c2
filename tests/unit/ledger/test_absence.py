"""Finding nothing: what proves that a write did not happen, and what never does."""

import pytest

from ledger.attempt import AttemptOutcome
from ledger.contract import Consistency
from ledger.errors import EffectUnknown
from ledger.event import EventKind
from ledger.provider import RecordStatus
from ledger.reconcile import Outcome, Standing, reconcile_effect
from ledger.transitions import EffectState, RunState
from tests.unit.ledger.sample import (
    LEASE_SECONDS,
    NO_ANSWER,
    PAYMENTS,
    REFUND_ID,
    SETTLE_WINDOW_SECONDS,
    TASK,
    a_record,
    a_refund,
)
from tests.unit.ledger.scripted_provider import Step
from tests.unit.ledger.support import an_approved_world, an_unknown_world, given


def test_absence_needs_two_reads_apart_by_the_settle_window() -> None:
    world = an_unknown_world()

    first = world.reconcile()
    assert first == Outcome(standing=Standing.WAIT, wait_seconds=SETTLE_WINDOW_SECONDS)
    world.clock.pass_ms(SETTLE_WINDOW_SECONDS * 1000 - 1)
    world.reconcile()
    assert world.effect().state is EffectState.UNKNOWN
    assert len(world.effect().absence_reads_at_ms) == 1
    world.clock.pass_ms(1)
    world.reconcile()

    effect = world.effect()
    assert effect.state is EffectState.PLANNED
    assert effect.attempts[0].outcome is AttemptOutcome.ABSENT
    assert effect.attempts[0].fault == "no_answer status=None code=None"
    assert effect.unsettled_since_ms is None


def test_a_read_while_the_claim_lives_proves_no_absence() -> None:
    world = an_approved_world()
    lease_ms = 30_000
    given(world, a_refund(EffectState.ATTEMPTING))
    world.clock.pass_ms(lease_ms - 1)

    outcome = world.reconcile()

    assert world.effect().state is EffectState.ATTEMPTING
    assert outcome == Outcome(standing=Standing.WAIT, wait_seconds=1)
    world.clock.pass_ms(1)
    world.reconcile()
    assert world.effect().state is EffectState.UNKNOWN
    assert len(world.effect().absence_reads_at_ms) == 1


def test_a_read_begun_while_the_claim_lived_proves_no_absence_though_it_ended_later() -> None:
    world = an_approved_world()
    given(world, a_refund(EffectState.ATTEMPTING))
    world.payments.during_look_up = lambda: world.pass_seconds(3600)

    world.reconcile()

    assert world.effect().absence_reads_at_ms == ()
    assert world.effect().state is EffectState.ATTEMPTING


def test_an_old_read_written_down_late_is_not_a_second_read() -> None:
    world = an_unknown_world()

    def frozen() -> None:
        world.payments.during_look_up = None
        world.pass_seconds(1)
        reconcile_effect(world.ports, TASK.run_id, REFUND_ID, TASK.actor)
        world.pass_seconds(SETTLE_WINDOW_SECONDS)

    world.payments.during_look_up = frozen
    world.reconcile()

    assert world.effect().state is EffectState.UNKNOWN
    assert len(world.effect().absence_reads_at_ms) == 1


def test_an_old_read_is_not_held_against_a_record_that_was_accepted_meanwhile() -> None:
    world = an_unknown_world()

    def found_meanwhile() -> None:
        world.payments.during_look_up = None
        world.payments.held.append(a_record(status=RecordStatus.PENDING))
        reconcile_effect(world.ports, TASK.run_id, REFUND_ID, TASK.actor)
        world.pass_seconds(3600)

    world.payments.during_look_up = found_meanwhile
    world.reconcile()

    assert world.effect().state is EffectState.ACCEPTED
    assert world.run().state is RunState.ACTIVE


def test_an_effect_settled_by_somebody_else_during_the_read_is_left_as_it_is() -> None:
    world = an_unknown_world(made=RecordStatus.DONE)

    def settled_meanwhile() -> None:
        world.payments.during_look_up = None
        reconcile_effect(world.ports, TASK.run_id, REFUND_ID, TASK.actor)

    world.payments.during_look_up = settled_meanwhile
    world.reconcile()

    assert world.effect().state is EffectState.CONFIRMED
    assert world.kinds.count(EventKind.EFFECT_CONFIRMED) == 1


def test_pages_that_could_not_be_read_prove_nothing_however_often() -> None:
    world = an_unknown_world()
    world.payments.every_page = False

    for _ in range(5):
        world.reconcile()
        world.pass_seconds(SETTLE_WINDOW_SECONDS)

    assert world.effect().state is EffectState.UNKNOWN
    assert world.effect().absence_reads_at_ms == ()
    assert world.effect().reconcile_reads == 5


def test_a_look_up_that_shows_writes_late_proves_nothing_however_often() -> None:
    eventual = PAYMENTS.model_copy(update={"look_up_consistency": Consistency.EVENTUAL})
    world = an_unknown_world(eventual)

    for _ in range(5):
        world.reconcile()
        world.pass_seconds(SETTLE_WINDOW_SECONDS)

    assert world.effect().state is EffectState.UNKNOWN


def test_absence_without_a_contract_that_allows_replay_is_a_persons_question() -> None:
    world = an_unknown_world(PAYMENTS.model_copy(update={"replay_after_absence": False}))
    world.reconcile()
    world.pass_seconds(SETTLE_WINDOW_SECONDS)

    assert world.reconcile().standing is Standing.REVIEW
    assert world.effect().state is EffectState.CONFLICT
    assert "allows no replay" in world.run().review_reason


def test_a_new_attempt_starts_counting_absence_anew() -> None:
    world = an_unknown_world()
    world.reconcile()
    world.pass_seconds(SETTLE_WINDOW_SECONDS)
    world.reconcile()
    world.payments.script = [Step(None, NO_ANSWER)]
    with pytest.raises(EffectUnknown):
        world.perform()
    world.pass_seconds(LEASE_SECONDS)

    world.reconcile()

    assert world.effect().state is EffectState.UNKNOWN
    assert len(world.effect().absence_reads_at_ms) == 1


def test_an_accepted_record_that_vanishes_is_a_conflict_once_it_should_show() -> None:
    world = an_unknown_world(made=RecordStatus.PENDING)
    world.reconcile()
    world.payments.held.clear()

    world.clock.pass_ms(SETTLE_WINDOW_SECONDS * 1000 - 1)
    assert world.reconcile().standing is Standing.WAIT
    assert world.effect().state is EffectState.ACCEPTED
    world.clock.pass_ms(1)

    assert world.reconcile().standing is Standing.REVIEW
    assert world.effect().state is EffectState.CONFLICT


def test_an_accepted_record_that_a_late_look_up_does_not_show_is_not_vanished() -> None:
    eventual = PAYMENTS.model_copy(update={"look_up_consistency": Consistency.EVENTUAL})
    world = an_unknown_world(eventual, made=RecordStatus.PENDING)
    world.reconcile()
    world.payments.held.clear()
    world.pass_seconds(SETTLE_WINDOW_SECONDS)

    world.reconcile()

    assert world.effect().state is EffectState.ACCEPTED


@pytest.mark.parametrize("then", ["unreadable", "pending"])
def test_given_a_read_of_absence_when_it_finds_no_second_then_it_is_asked_ever_less_often(
    then: str,
) -> None:
    world = an_unknown_world()
    world.reconcile()
    world.pass_seconds(SETTLE_WINDOW_SECONDS)
    if then == "unreadable":
        world.payments.read_fault = NO_ANSWER
    else:
        world.payments.held.append(a_record(status=RecordStatus.PENDING))

    waits = []
    for _ in range(6):
        waits.append(world.reconcile().wait_seconds)
        world.pass_seconds(waits[-1])

    assert len(world.effect().absence_reads_at_ms) == 1
    assert sum(waits[3:]) > 10 * sum(waits[:2])
