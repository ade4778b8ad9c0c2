"""The write protocol from the stage's side: what is sent, and what the stage is told."""

import pytest

from ledger.errors import (
    EffectInProgress,
    EffectPending,
    EffectUnknown,
    ReviewRequired,
)
from ledger.event import EventKind
from ledger.plan import existing_or_planned
from ledger.provider import RecordStatus
from ledger.task import Task
from ledger.transitions import EffectState, RunState
from tests.unit.ledger.sample import (
    BOUND,
    CALL_TIMEOUT_SECONDS,
    LEASE_SECONDS,
    NO_ANSWER,
    RECEIPT_ID,
    REFUND_ID,
    TASK,
    a_refund,
)
from tests.unit.ledger.scripted_provider import Step
from tests.unit.ledger.support import an_approved_world, given

NEEDED_MS = (3 * CALL_TIMEOUT_SECONDS + 5) * 1000


def test_an_approved_refund_is_sent_once_read_back_and_proves_its_checkpoint() -> None:
    world = an_approved_world()

    effect = world.perform()

    assert effect.state is EffectState.CONFIRMED
    assert [call.effect_id for call in world.payments.calls] == [REFUND_ID]
    assert world.payments.look_ups == 1
    checkpoint = world.ledger.proven("refund_confirmed")
    assert checkpoint is not None
    assert checkpoint.effect_id == REFUND_ID
    assert checkpoint.evidence.record_id == "payments_1"
    assert checkpoint.evidence.fields == BOUND
    assert checkpoint.evidence.read_at_ms == world.clock.now_ms()


def test_a_stage_called_again_after_success_sends_nothing_and_gives_the_same_effect() -> None:
    world = an_approved_world()
    first = world.perform()

    again = world.perform(task=Task(run_id=TASK.run_id, epoch=0))

    assert again == first
    assert len(world.payments.calls) == 1


def test_what_is_sent_are_the_frozen_bytes_under_the_effects_key() -> None:
    world = an_approved_world()

    effect = world.perform()

    (call,) = world.payments.calls
    assert call.idempotency_key == effect.idempotency_key
    assert call.params == effect.request.params() == {"fields": BOUND, "mark": REFUND_ID}
    assert call.bound == BOUND
    assert call.personal == {}


def test_a_second_attempt_sends_the_first_ones_bytes_though_the_code_now_composes_others() -> None:
    world = an_approved_world()
    world.payments.script = [Step(None, NO_ANSWER)]
    with pytest.raises(EffectUnknown):
        world.perform()
    world.prove_absence()
    world.payments.composed_extras = {"note": "reworded"}

    world.perform()

    first, second = world.payments.calls
    assert (first.params, first.idempotency_key) == (second.params, second.idempotency_key)


def test_a_lost_answer_is_unknown_and_the_next_call_sends_nothing() -> None:
    world = an_approved_world()
    world.payments.script = [Step(RecordStatus.DONE, NO_ANSWER)]

    with pytest.raises(EffectUnknown):
        world.perform()
    with pytest.raises(EffectUnknown):
        world.perform()

    assert world.effect().state is EffectState.UNKNOWN
    assert len(world.payments.calls) == 1


def test_a_worker_that_died_in_mid_call_is_in_progress_until_its_lease_ends() -> None:
    world = an_approved_world()
    given(world, a_refund(EffectState.ATTEMPTING))
    lease_ms = 30_000
    world.clock.pass_ms(lease_ms - 1)

    with pytest.raises(EffectInProgress):
        world.perform()
    world.clock.pass_ms(1)
    with pytest.raises(EffectUnknown):
        world.perform()

    assert world.payments.calls == []


def test_a_pending_refund_keeps_its_receipt_and_is_not_sent_again() -> None:
    world = an_approved_world()
    world.payments.script = [Step(RecordStatus.PENDING)]

    with pytest.raises(EffectPending):
        world.perform()
    with pytest.raises(EffectPending):
        world.perform()

    effect = world.effect()
    assert effect.state is EffectState.ACCEPTED
    assert effect.evidence is not None
    assert effect.evidence.record_id == "payments_1"
    assert world.ledger.proven("refund_confirmed") is None
    assert len(world.payments.calls) == 1


def test_an_accepted_refund_whose_read_back_fails_waits_for_reconcile() -> None:
    world = an_approved_world()
    world.payments.read_fault = NO_ANSWER

    with pytest.raises(EffectPending):
        world.perform()

    assert world.effect().state is EffectState.ACCEPTED
    world.payments.read_fault = None
    world.reconcile()
    assert world.effect().state is EffectState.CONFIRMED
    assert len(world.payments.calls) == 1


def test_the_authority_that_was_read_is_kept_with_the_claim() -> None:
    world = an_approved_world()

    world.perform()

    claimed = next(event for event in world.events if event.kind is EventKind.EFFECT_CLAIMED)
    assert claimed.details["authority_refundable"] == 10000
    assert claimed.details["request_digest"] == world.effect().request.digest


def test_the_receipt_quotes_the_recorded_refund_and_is_sent_to_the_recorded_address() -> None:
    world = an_approved_world()
    world.perform()

    receipt = world.perform("receipt")

    assert receipt.state is EffectState.CONFIRMED
    (call,) = world.post.calls
    assert call.bound == {
        "customer_id": "cus_1",
        "refund_id": "payments_1",
        "amount_minor": 7900,
    }
    assert call.personal == {"email": "ada@example.com"}
    assert "ada@example.com" not in receipt.request.body
    assert "ada@example.com" not in receipt.model_dump_json()


def test_the_receipt_is_not_sent_before_the_refund_is_proven() -> None:
    world = an_approved_world()

    with pytest.raises(ReviewRequired, match="refund_confirmed, which is not proven"):
        world.perform("receipt")

    assert world.post.calls == []
    assert world.resume() == "Review"


def test_a_mail_whose_answer_was_lost_is_not_sent_again() -> None:
    world = an_approved_world()
    world.perform()
    world.post.script = [Step(RecordStatus.DONE, NO_ANSWER)]
    with pytest.raises(EffectUnknown):
        world.perform("receipt")
    world.prove_absence()

    with pytest.raises(EffectUnknown):
        world.perform("receipt")

    assert len(world.post.calls) == 1
    assert world.effect(RECEIPT_ID).state is EffectState.UNKNOWN
    assert world.effect().state is EffectState.CONFIRMED


def test_a_mail_to_a_customer_whose_data_was_erased_goes_to_review() -> None:
    world = an_approved_world()
    world.perform()
    world.store.erase_personal(TASK.run_id)

    with pytest.raises(ReviewRequired, match="erased"):
        world.perform("receipt")

    assert world.post.calls == []
    assert world.run().state is RunState.REVIEW


def test_an_effect_that_is_on_record_is_not_planned_anew() -> None:
    world = an_approved_world()
    stored = a_refund(idempotency_key="key-of-the-first-plan")
    given(world, stored)

    found = existing_or_planned(
        world.ports, world.definition, world.definition.operation("refund"), world.ledger
    )

    assert found == stored


def test_a_claim_lives_for_the_call_its_read_back_and_one_ledger_write() -> None:
    world = an_approved_world()
    world.payments.script = [Step(RecordStatus.DONE, NO_ANSWER)]
    with pytest.raises(EffectUnknown):
        world.perform()

    attempt = world.effect().last_attempt

    assert attempt is not None
    assert attempt.lease_until_ms - attempt.claimed_at_ms == LEASE_SECONDS * 1000
