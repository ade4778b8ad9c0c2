"""What the customer is told: words that hold, for every state there is."""

import pytest

from ledger.approve import Decision
from ledger.errors import EffectUnknown
from ledger.projection import project
from ledger.provider import RecordStatus
from ledger.status import EFFECT_WORDS, RUN_WORDS, CustomerStatus, customer_status
from ledger.transitions import EffectState, RunState
from tests.builders import a_checkpoint, evidence
from tests.unit.ledger.sample import BOUND, DIGEST, NO_ANSWER, PAYLOAD, REFUND_ID, a_refund
from tests.unit.ledger.scripted_provider import Step
from tests.unit.ledger.support import World, a_world, an_approved_world, given

UNPROVEN = [state for state in EffectState if state is not EffectState.CONFIRMED]
PROMISES = ("confirmed", "refunded", "paid", "done", "completed", "sent")


def told(world: World) -> CustomerStatus:
    """Return what the customer is told now."""
    return customer_status(project(world.definition, world.ledger, world.clock.now_ms()))


@pytest.mark.parametrize("state", UNPROVEN)
def test_an_unproven_refund_is_never_promised(state: EffectState) -> None:
    world = an_approved_world()
    given(
        world,
        a_refund(state, evidence=evidence()),
        a_checkpoint(effect_id=REFUND_ID),
    )

    status = told(world)

    (refund,) = status.effects
    assert refund.operation == "refund"
    assert not any(promise in refund.status for promise in PROMISES)
    assert refund.record_id is None
    assert refund.fields == {}
    assert status.proven == ("You approved exactly what was shown.",)


def test_a_proven_refund_is_told_with_the_record_that_proves_it() -> None:
    world = an_approved_world()
    world.perform()

    status = told(world)

    (refund,) = status.effects
    assert refund.status == "confirmed"
    assert refund.record_id == "payments_1"
    assert refund.fields == BOUND
    assert status.proven == (
        "You approved exactly what was shown.",
        "The payment provider confirms the refund.",
    )


def test_a_lost_answer_is_told_as_being_checked() -> None:
    world = an_approved_world()
    world.payments.script = [Step(RecordStatus.DONE, NO_ANSWER)]
    with pytest.raises(EffectUnknown):
        world.perform()

    (refund,) = told(world).effects

    assert refund.status == "being checked with the provider"


def test_effects_are_told_in_the_order_of_the_work() -> None:
    world = an_approved_world()
    world.perform()
    world.perform("receipt")

    assert [found.operation for found in told(world).effects] == ["refund", "receipt"]


def test_a_customer_is_shown_exactly_what_they_are_asked() -> None:
    world = a_world()
    world.ask()

    approval = told(world).approval

    assert approval is not None
    assert approval.digest == DIGEST
    assert approval.payload == PAYLOAD
    pending = world.ledger.pending_approval()
    assert pending is not None
    assert approval.approval_id == pending.approval_id
    assert approval.expires_at_ms == pending.expires_at_ms


def test_a_customer_is_not_asked_once_they_have_answered() -> None:
    assert told(an_approved_world()).approval is None


def test_a_customer_is_not_asked_while_a_person_looks() -> None:
    world = a_world()
    world.ask()
    world.change(lambda draft: draft.send_to_review("a person asked"))

    assert told(world).approval is None


def test_a_customer_who_declined_is_shown_that_nothing_was_done() -> None:
    world = a_world()
    world.ask()
    world.decide(Decision.DECLINE)

    status = told(world)

    assert status.status is RunState.CLOSED
    assert status.message == RUN_WORDS[RunState.CLOSED]
    assert status.effects == ()
    assert status.proven == ()


def test_a_run_closed_after_part_of_the_work_shows_the_part_that_was_done() -> None:
    world = an_approved_world()
    world.perform()
    given(world, state=RunState.CLOSED)

    status = told(world)

    assert "nothing" not in status.message
    assert [(found.operation, found.status) for found in status.effects] == [
        ("refund", "confirmed")
    ]


def test_why_a_person_looks_is_not_for_the_customer() -> None:
    world = a_world()
    world.change(lambda draft: draft.send_to_review("suspected fraud"))

    assert "fraud" not in told(world).model_dump_json()


def test_every_state_has_its_own_words() -> None:
    assert set(RUN_WORDS) == set(RunState)
    assert set(EFFECT_WORDS) == set(EffectState)
    assert not any(RUN_WORDS[RunState.COMPLETED] == RUN_WORDS[state] for state in UNFINISHED)


def test_a_run_is_called_completed_only_when_every_claim_is_proven() -> None:
    world = an_approved_world()
    world.perform()
    assert "completed" not in told(world).message
    world.perform("receipt")
    world.resume()

    status = told(world)

    assert status.message == RUN_WORDS[RunState.COMPLETED]
    assert len(status.proven) == len(world.definition.stages)


UNFINISHED = [RunState.ACTIVE, RunState.AWAITING_APPROVAL, RunState.REVIEW, RunState.CLOSED]
