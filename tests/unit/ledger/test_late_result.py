"""What a worker learned after its claim was gone: kept, used, and never a step back."""

import pytest

from ledger.answer import keep_late_result
from ledger.attempt import AttemptOutcome
from ledger.errors import (
    EffectUnknown,
    ReviewRequired,
)
from ledger.event import EventKind
from ledger.execution import replace_execution
from ledger.transitions import EffectState, RunState
from tests.builders import an_attempt
from tests.unit.ledger.sample import (
    CARD_DECLINED,
    LEASE_SECONDS,
    OPERATOR,
    RECEIPT_ID,
    RUN_ID,
    SETTLE_WINDOW_SECONDS,
    a_record,
    a_refund,
)
from tests.unit.ledger.scripted_provider import Step
from tests.unit.ledger.support import World, an_approved_world, given


def outcomes(world: World) -> list[AttemptOutcome]:
    """Return how the refund's attempts ended."""
    return [attempt.outcome for attempt in world.effect().attempts]


def test_a_worker_whose_execution_was_replaced_keeps_what_it_learned_for_reconcile() -> None:
    world = an_approved_world()

    def replace() -> None:
        replace_execution(world.ports, RUN_ID, 1, "aborted", OPERATOR)

    world.payments.during_call = replace
    with pytest.raises(EffectUnknown):
        world.perform()

    effect = world.effect()
    assert effect.state is EffectState.ATTEMPTING
    assert [late.record.record_id for late in effect.late_results] == ["payments_1"]
    world.pass_seconds(LEASE_SECONDS)
    world.reconcile()
    assert world.effect().state is EffectState.CONFIRMED
    assert len(world.payments.calls) == 1


def test_a_late_worker_that_learned_only_of_a_fault_changes_nothing() -> None:
    world = an_approved_world()
    world.payments.script = [Step(None, CARD_DECLINED)]
    world.payments.during_call = lambda: given(world, epoch=2)

    with pytest.raises(EffectUnknown):
        world.perform()

    assert world.effect().state is EffectState.ATTEMPTING
    assert world.effect().late_results == ()


def test_a_mail_whose_worker_was_replaced_is_confirmed_from_its_late_result() -> None:
    world = an_approved_world()
    world.perform()
    world.post.during_call = lambda: given(world, epoch=2)
    with pytest.raises(EffectUnknown):
        world.perform("receipt")
    world.pass_seconds(LEASE_SECONDS)

    world.reconcile()

    receipt = world.effect(RECEIPT_ID)
    assert receipt.state is EffectState.CONFIRMED
    assert receipt.evidence is not None
    assert receipt.evidence.record_id == "post_1"
    assert len(world.post.calls) == 1


def absence_proven_in_mid_call(world: World) -> None:
    """Freeze the worker in its call until others have proven absence, then let it answer."""

    def frozen() -> None:
        held = list(world.payments.held)
        world.payments.held.clear()
        world.prove_absence()
        world.payments.held.extend(held)

    world.payments.during_call = frozen


def test_a_record_that_appears_after_its_absence_was_proven_makes_the_effect_unknown() -> None:
    world = an_approved_world()
    absence_proven_in_mid_call(world)

    with pytest.raises(EffectUnknown):
        world.perform()

    assert world.effect().state is EffectState.UNKNOWN
    assert EventKind.LATE_RESULT_RECORDED in world.kinds
    assert outcomes(world) == [AttemptOutcome.ABSENT]
    world.reconcile()
    assert world.effect().state is EffectState.CONFIRMED
    assert len(world.payments.calls) == 1


def test_a_late_result_that_the_provider_does_not_show_is_a_persons_question() -> None:
    world = an_approved_world()
    absence_proven_in_mid_call(world)
    with pytest.raises(EffectUnknown):
        world.perform()
    world.payments.held.clear()
    world.pass_seconds(SETTLE_WINDOW_SECONDS)

    world.reconcile()

    assert world.effect().state is EffectState.CONFLICT
    assert world.run().state is RunState.REVIEW


def test_a_late_record_after_a_refusal_reopens_the_question_and_keeps_the_refusal() -> None:
    world = an_approved_world()

    def refused_meanwhile() -> None:
        effect = world.effect()
        refused = effect.attempts[0].model_copy(
            update={
                "attempt_id": "attempt-2",
                "number": 2,
                "outcome": AttemptOutcome.REFUSED,
                "fault": "answered status=402",
            }
        )
        attempts = (*effect.attempts, refused)
        given(
            world,
            effect.model_copy(update={"state": EffectState.REJECTED, "attempts": attempts}),
        )

    world.payments.during_call = refused_meanwhile
    with pytest.raises(EffectUnknown):
        world.perform()

    assert world.effect().state is EffectState.UNKNOWN
    assert world.effect().attempts[1].outcome is AttemptOutcome.REFUSED
    assert world.effect().attempts[1].fault == "answered status=402"


def test_a_late_record_that_is_already_the_evidence_changes_nothing() -> None:
    world = an_approved_world()

    def found_meanwhile() -> None:
        world.pass_seconds(LEASE_SECONDS)
        world.reconcile()

    world.payments.during_call = found_meanwhile
    effect = world.perform()

    assert effect.state is EffectState.CONFIRMED
    assert effect.late_results == ()
    assert world.run().state is RunState.ACTIVE


def test_a_late_record_learned_twice_is_kept_once() -> None:
    world = an_approved_world()
    given(world, a_refund(EffectState.UNKNOWN))
    for _ in range(2):
        world.change(
            lambda draft: keep_late_result(
                draft, world.effect(), world.effect().attempts[0], a_record()
            )
        )

    assert len(world.effect().late_results) == 1
    assert world.kinds.count(EventKind.LATE_RESULT_RECORDED) == 1


def test_a_second_record_for_a_confirmed_effect_contradicts_it_and_reopens_the_run() -> None:
    world = an_approved_world()

    def another_confirmed() -> None:
        world.payments.held[:] = [a_record(record_id="re_other")]
        world.pass_seconds(LEASE_SECONDS)
        world.reconcile()

    world.payments.during_call = another_confirmed
    with pytest.raises(ReviewRequired, match="contradicted"):
        world.perform()

    assert world.effect().state is EffectState.CONTRADICTED
    assert [late.record.record_id for late in world.effect().late_results] == ["payments_1"]
    assert world.run().state is RunState.REVIEW
    assert world.ledger.proven("refund_confirmed") is None


def test_a_record_that_appears_after_the_run_was_closed_opens_it_for_review() -> None:
    world = an_approved_world()

    def declined_meanwhile() -> None:
        refund = world.effect().model_copy(update={"state": EffectState.PLANNED})
        given(world, refund, state=RunState.CLOSED, closed_at_ms=world.clock.now_ms())

    world.payments.during_call = declined_meanwhile
    with pytest.raises(EffectUnknown):
        world.perform()

    assert world.effect().state is EffectState.UNKNOWN
    assert world.run().state is RunState.REVIEW
    assert world.run().due_at_ms is not None
    assert world.run().closed_at_ms is None


def overtaken_by_a_second_attempt(world: World) -> None:
    """Let another worker of the same execution be in mid-call when this one answers."""

    def overtake() -> None:
        effect = world.effect()
        second = an_attempt(attempt_id="attempt-2", number=2)
        ended = effect.attempts[0].model_copy(update={"outcome": AttemptOutcome.ABSENT})
        given(world, effect.model_copy(update={"attempts": (ended, second)}))

    world.payments.during_call = overtake


def test_a_record_of_the_first_attempt_does_not_settle_the_second() -> None:
    world = an_approved_world()
    overtaken_by_a_second_attempt(world)

    with pytest.raises(EffectUnknown):
        world.perform()

    assert world.effect().state is EffectState.ATTEMPTING
    assert outcomes(world) == [AttemptOutcome.ABSENT, AttemptOutcome.RUNNING]
    assert [late.record.record_id for late in world.effect().late_results] == ["payments_1"]


def test_a_refusal_of_the_first_attempt_does_not_settle_the_second() -> None:
    world = an_approved_world()
    world.payments.script = [Step(None, CARD_DECLINED)]
    overtaken_by_a_second_attempt(world)

    with pytest.raises(EffectUnknown):
        world.perform()

    assert world.effect().state is EffectState.ATTEMPTING
    assert outcomes(world) == [AttemptOutcome.ABSENT, AttemptOutcome.RUNNING]
