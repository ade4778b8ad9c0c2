"""What is written down when a worker speaks after its claim was gone."""

import pytest

from ledger.contract import ErrorClass, ErrorRule, FaultKind
from ledger.errors import EffectUnknown, ProviderUnavailable
from ledger.event import EventKind
from ledger.provider import ProviderFault
from ledger.transitions import EffectState, RunState
from tests.unit.ledger.sample import (
    LEASE_SECONDS,
    NEVER_SENT,
    NO_ANSWER,
    PAYMENTS,
    RECOVERY_DEADLINE_SECONDS,
    REFUND_ID,
    a_record,
)
from tests.unit.ledger.scripted_provider import Step
from tests.unit.ledger.support import World, an_approved_world, given

BUSY = ProviderFault(FaultKind.ANSWERED, 429, "busy")
TURNED_AWAY = (
    ErrorRule(error_class=ErrorClass.NOT_REACHED, kind=FaultKind.ANSWERED, status=429),
    ErrorRule(error_class=ErrorClass.NOT_REACHED, kind=FaultKind.ANSWERED, code="busy"),
)


def given_up_in_mid_call(world: World, fault: ProviderFault) -> None:
    """Let others take the worker for dead, and the effect for overdue, while its call ends."""

    def give_up() -> None:
        world.payments.read_fault = NO_ANSWER
        world.pass_seconds(LEASE_SECONDS + RECOVERY_DEADLINE_SECONDS)
        world.reconcile()
        world.pass_seconds(RECOVERY_DEADLINE_SECONDS)
        world.reconcile()
        world.payments.read_fault = None

    world.payments.script = [Step(None, fault)]
    world.payments.during_call = give_up


def test_given_a_record_learned_late_when_kept_then_its_event_names_record_attempt_and_state() -> (
    None
):
    world = an_approved_world()
    world.payments.during_call = lambda: given(world, epoch=2)

    with pytest.raises(EffectUnknown):
        world.perform()

    (event,) = [found for found in world.events if found.kind == EventKind.LATE_RESULT_RECORDED]
    assert event.subject == REFUND_ID
    assert (event.prior_state, event.state) == (EffectState.ATTEMPTING, EffectState.ATTEMPTING)
    (attempt,) = world.effect().attempts
    assert event.details == {"record_id": "payments_1", "attempt_id": attempt.attempt_id}


@pytest.mark.parametrize("rule", TURNED_AWAY, ids=["by status", "by code"])
def test_given_a_request_turned_away_when_told_late_then_it_counts_as_never_made(
    rule: ErrorRule,
) -> None:
    world = an_approved_world()
    errors = (rule, *PAYMENTS.errors)
    world.payments.contract = PAYMENTS.model_copy(update={"errors": errors})
    given_up_in_mid_call(world, BUSY)

    with pytest.raises(ProviderUnavailable):
        world.perform()

    assert world.effect().state is EffectState.PLANNED


def test_given_an_overdue_refund_when_it_never_left_then_the_trail_says_by_whose_word() -> None:
    world = an_approved_world()
    given_up_in_mid_call(world, NEVER_SENT)

    with pytest.raises(ProviderUnavailable):
        world.perform()

    assert world.run().state is RunState.ACTIVE
    assert world.effect().attempts[0].fault == str(NEVER_SENT)
    assert world.effect().overdue is False
    reasons = {event.kind: event.reason for event in world.events}
    assert reasons[EventKind.EFFECT_NOT_REACHED].endswith(str(NEVER_SENT))
    assert reasons[EventKind.REVIEW_ENDED].endswith(str(NEVER_SENT))


def test_given_a_confirmed_refund_when_a_late_worker_says_it_never_left_then_the_proof_stands() -> (
    None
):
    world = an_approved_world()

    def found_meanwhile() -> None:
        world.payments.held.append(a_record())
        world.pass_seconds(LEASE_SECONDS)
        world.reconcile()

    world.payments.script = [Step(None, NEVER_SENT)]
    world.payments.during_call = found_meanwhile

    effect = world.perform()

    assert effect.state is EffectState.CONFIRMED
    assert EventKind.EFFECT_CONTRADICTED not in world.kinds
