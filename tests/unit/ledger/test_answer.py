"""What one answer means: for its own attempt, and for no other."""

import pytest

from ledger.attempt import AttemptOutcome
from ledger.canonical import canonical_bytes
from ledger.errors import (
    EffectPending,
    EffectUnknown,
    ProviderUnavailable,
    ReviewRequired,
)
from ledger.event import EventKind
from ledger.provider import ProviderFault, RecordStatus
from ledger.transitions import EffectState, RunState
from tests.unit.ledger.sample import (
    ALREADY_REFUNDED,
    BOUND,
    CARD_DECLINED,
    KEY_CONFLICT,
    KEY_IN_USE,
    LEASE_SECONDS,
    NEVER_SENT,
    NO_ANSWER,
    RECEIPT_ID,
    SERVER_ERROR,
    a_record,
)
from tests.unit.ledger.scripted_provider import Step
from tests.unit.ledger.support import World, an_approved_world


def lose_and_prove_absent(world: World) -> None:
    """Let a first attempt end unseen by the provider, proven by two reads."""
    world.payments.script = [Step(None, NO_ANSWER)]
    with pytest.raises(EffectUnknown):
        world.perform()
    world.prove_absence()


def outcomes(world: World) -> list[AttemptOutcome]:
    """Return how the refund's attempts ended."""
    return [attempt.outcome for attempt in world.effect().attempts]


def test_a_done_record_that_is_read_back_equal_is_accepted_then_confirmed() -> None:
    world = an_approved_world()

    world.perform()

    assert world.kinds[-3:] == [
        EventKind.EFFECT_ACCEPTED,
        EventKind.EFFECT_CONFIRMED,
        EventKind.CHECKPOINT_REACHED,
    ]
    assert outcomes(world) == [AttemptOutcome.ACCEPTED]


def test_a_record_that_fails_at_once_is_rejected_and_a_person_looks() -> None:
    world = an_approved_world()
    world.payments.script = [Step(RecordStatus.FAILED)]

    with pytest.raises(ReviewRequired, match="rejected"):
        world.perform()

    assert world.effect().state is EffectState.REJECTED
    assert world.run().state is RunState.REVIEW
    assert world.ledger.proven("refund_confirmed") is None


def test_a_record_that_is_read_back_different_is_a_conflict_with_what_was_found() -> None:
    world = an_approved_world()
    world.payments.script = [Step(RecordStatus.DONE, fields={"amount_minor": 79000})]

    with pytest.raises(ReviewRequired, match="conflict"):
        world.perform()

    effect = world.effect()
    assert effect.state is EffectState.CONFLICT
    assert [found.fields["amount_minor"] for found in effect.candidates] == [79000]
    assert "amount_minor" in world.run().review_reason
    assert world.ledger.proven("refund_confirmed") is None


@pytest.mark.parametrize("every_page", [True, False])
def test_a_record_that_the_read_back_does_not_show_yet_stays_accepted(every_page: bool) -> None:
    world = an_approved_world()
    world.payments.every_page = every_page
    world.payments.during_call = world.payments.held.clear

    with pytest.raises(EffectPending):
        world.perform()

    assert world.effect().state is EffectState.ACCEPTED
    assert world.run().state is RunState.ACTIVE


def test_a_mail_is_confirmed_by_its_acceptance_without_a_read() -> None:
    world = an_approved_world()
    world.perform()

    world.perform("receipt")

    assert world.post.look_ups == 0
    assert world.ledger.proven("receipt_sent") is not None


def test_a_mail_accepted_for_something_else_is_a_conflict() -> None:
    world = an_approved_world()
    world.perform()
    world.post.script = [Step(RecordStatus.DONE, fields={"refund_id": "re_other"})]

    with pytest.raises(ReviewRequired):
        world.perform("receipt")

    assert world.effect(RECEIPT_ID).state is EffectState.CONFLICT


def test_a_definite_refusal_of_the_first_attempt_is_final_and_a_person_looks() -> None:
    world = an_approved_world()
    world.payments.script = [Step(None, CARD_DECLINED)]

    with pytest.raises(ReviewRequired, match="rejected"):
        world.perform()

    assert world.effect().state is EffectState.REJECTED
    assert outcomes(world) == [AttemptOutcome.REFUSED]
    assert world.effect().attempts[0].fault == "answered status=402 code=card_declined"
    assert world.run().state is RunState.REVIEW


def test_a_refusal_after_a_lost_attempt_speaks_only_for_itself() -> None:
    world = an_approved_world()
    lose_and_prove_absent(world)
    world.payments.script = [Step(None, CARD_DECLINED)]

    with pytest.raises(EffectUnknown):
        world.perform()

    assert world.effect().state is EffectState.UNKNOWN
    assert world.run().state is RunState.ACTIVE


def test_a_request_that_never_left_may_be_made_again_after_a_pause() -> None:
    world = an_approved_world()
    world.payments.script = [Step(None, NEVER_SENT)]

    with pytest.raises(ProviderUnavailable):
        world.perform()

    assert world.effect().state is EffectState.PLANNED
    assert outcomes(world) == [AttemptOutcome.NOT_REACHED]
    with pytest.raises(ProviderUnavailable, match="the next attempt waits"):
        world.perform()
    world.pass_seconds(2)
    assert world.perform().state is EffectState.CONFIRMED


def test_a_request_that_never_left_after_a_lost_attempt_is_still_unknown() -> None:
    world = an_approved_world()
    lose_and_prove_absent(world)
    world.payments.script = [Step(None, NEVER_SENT)]

    with pytest.raises(EffectUnknown):
        world.perform()

    assert world.effect().state is EffectState.UNKNOWN


def test_a_refusal_after_a_request_that_never_left_is_final() -> None:
    world = an_approved_world()
    world.payments.script = [Step(None, NEVER_SENT), Step(None, CARD_DECLINED)]
    with pytest.raises(ProviderUnavailable):
        world.perform()
    world.pass_seconds(2)

    with pytest.raises(ReviewRequired):
        world.perform()

    assert world.effect().state is EffectState.REJECTED


def test_a_key_that_is_known_with_another_request_is_a_conflict_and_no_other_key_is_tried() -> None:
    world = an_approved_world()
    world.payments.script = [Step(None, KEY_CONFLICT)]

    with pytest.raises(ReviewRequired, match="conflict"):
        world.perform()
    with pytest.raises(ReviewRequired):
        world.perform()

    assert world.effect().state is EffectState.CONFLICT
    assert world.effect().generation == 1
    assert len(world.payments.calls) == 1


@pytest.mark.parametrize("fault", [KEY_IN_USE, ALREADY_REFUNDED, SERVER_ERROR, NO_ANSWER], ids=str)
@pytest.mark.parametrize("made", [RecordStatus.DONE, None], ids=["made", "not made"])
def test_an_answer_that_proves_nothing_is_unknown_whatever_the_provider_did(
    fault: ProviderFault, made: RecordStatus | None
) -> None:
    world = an_approved_world()
    world.payments.script = [Step(made, fault)]

    with pytest.raises(EffectUnknown):
        world.perform()

    effect = world.effect()
    assert effect.state is EffectState.UNKNOWN
    assert effect.unsettled_since_ms == world.clock.now_ms()
    assert outcomes(world) == [AttemptOutcome.UNKNOWN]
    assert effect.attempts[0].fault == str(fault)
    assert world.run().state is RunState.ACTIVE


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (KEY_IN_USE, "the key is in use by another request, which may still be running"),
        (ALREADY_REFUNDED, "the provider says that it exists already, not whose it is"),
        (SERVER_ERROR, "no answer that proves anything"),
        (NO_ANSWER, "no answer that proves anything"),
    ],
    ids=str,
)
def test_why_an_effect_is_unknown_is_on_record_with_the_class_of_the_fault(
    fault: ProviderFault, words: str
) -> None:
    world = an_approved_world()
    world.payments.script = [Step(None, fault)]

    with pytest.raises(EffectUnknown):
        world.perform()

    found = world.payments.contract.classify(fault.kind, fault.status, fault.code)
    assert world.events[-1].kind is EventKind.EFFECT_UNKNOWN
    assert world.events[-1].reason == f"{words} ({found}): {fault}"


def test_a_key_in_use_is_read_first_and_only_after_proven_absence_sent_again_unchanged() -> None:
    world = an_approved_world()
    world.payments.script = [Step(None, KEY_IN_USE)]
    with pytest.raises(EffectUnknown):
        world.perform()
    assert "(same_key_again)" in world.events[-1].reason

    with pytest.raises(EffectUnknown, match="read first"):
        world.perform()
    assert len(world.payments.calls) == 1
    world.prove_absence()
    assert world.kinds.count(EventKind.ABSENCE_PROVEN) == 1
    world.perform()

    first, again = world.payments.calls
    assert again.idempotency_key == first.idempotency_key
    assert canonical_bytes(again.params) == canonical_bytes(first.params)
    assert world.effect().generation == 1
    assert world.effect().state is EffectState.CONFIRMED


def test_a_key_in_use_by_a_request_that_was_carried_out_is_sent_no_second_time() -> None:
    world = an_approved_world()
    world.payments.script = [Step(RecordStatus.DONE, KEY_IN_USE)]
    with pytest.raises(EffectUnknown):
        world.perform()
    world.pass_seconds(LEASE_SECONDS)

    world.reconcile()

    assert world.effect().state is EffectState.CONFIRMED
    assert len(world.payments.calls) == 1


def test_already_refunded_is_ours_only_when_the_read_says_so() -> None:
    world = an_approved_world()
    world.payments.script = [Step(None, ALREADY_REFUNDED)]
    world.payments.held.append(a_record(record_id="re_dashboard", mark=None))
    with pytest.raises(EffectUnknown):
        world.perform()
    world.pass_seconds(LEASE_SECONDS)

    world.reconcile()

    effect = world.effect()
    assert effect.state is EffectState.CONFLICT
    assert [found.record_id for found in effect.candidates] == ["re_dashboard"]
    assert world.ledger.proven("refund_confirmed") is None


def absence_proven_in_mid_call(world: World) -> None:
    """Freeze the worker in its call until others have proven absence, then let it answer."""

    def frozen() -> None:
        held = list(world.payments.held)
        world.payments.held.clear()
        world.prove_absence()
        world.payments.held.extend(held)

    world.payments.during_call = frozen


def test_evidence_is_cut_to_the_records_typed_fields() -> None:
    world = an_approved_world()

    evidence = world.perform().evidence

    assert evidence is not None
    assert evidence.model_dump() == {
        "source": "payments",
        "record_id": "payments_1",
        "provider_status": "done",
        "fields": BOUND,
        "read_at_ms": world.clock.now_ms(),
    }
