"""A fault that came after the claim was gone: proof that nothing left, or no proof at all."""

import pytest

from ledger.attempt import AttemptOutcome
from ledger.errors import EffectUnknown, ProviderUnavailable
from ledger.provider import ProviderFault
from ledger.transitions import EffectState, RunState
from tests.unit.ledger.sample import (
    CARD_DECLINED,
    KEY_CONFLICT,
    LEASE_SECONDS,
    NEVER_SENT,
    NO_ANSWER,
    RECOVERY_DEADLINE_SECONDS,
)
from tests.unit.ledger.scripted_provider import Step
from tests.unit.ledger.support import World, an_approved_world


def outcomes(world: World) -> list[AttemptOutcome]:
    """Return how the refund's attempts ended."""
    return [attempt.outcome for attempt in world.effect().attempts]


def given_up_in_mid_call(world: World, fault: ProviderFault) -> None:
    """Let others take the worker for dead while its call ends in ``fault``."""

    def give_up() -> None:
        world.pass_seconds(LEASE_SECONDS)
        world.reconcile()
        assert world.effect().state is EffectState.UNKNOWN

    world.payments.script = [Step(None, fault)]
    world.payments.during_call = give_up


def test_a_worker_that_was_given_up_proves_that_its_request_never_left() -> None:
    world = an_approved_world()
    given_up_in_mid_call(world, NEVER_SENT)

    with pytest.raises(ProviderUnavailable):
        world.perform()

    effect = world.effect()
    assert effect.state is EffectState.PLANNED
    assert outcomes(world) == [AttemptOutcome.NOT_REACHED]
    assert effect.unsettled_since_ms is None
    world.payments.during_call = None
    assert world.perform().state is EffectState.CONFIRMED


@pytest.mark.parametrize("fault", [CARD_DECLINED, NO_ANSWER, KEY_CONFLICT], ids=str)
def test_any_other_fault_of_a_worker_that_was_given_up_proves_nothing(
    fault: ProviderFault,
) -> None:
    world = an_approved_world()
    given_up_in_mid_call(world, fault)

    with pytest.raises(EffectUnknown):
        world.perform()

    assert world.effect().state is EffectState.UNKNOWN
    assert world.run().state is RunState.ACTIVE


def test_a_second_request_that_never_left_says_nothing_about_a_first_that_was_lost() -> None:
    world = an_approved_world()
    world.payments.script = [Step(None, NO_ANSWER)]
    with pytest.raises(EffectUnknown):
        world.perform()
    world.prove_absence()
    given_up_in_mid_call(world, NEVER_SENT)

    with pytest.raises(EffectUnknown):
        world.perform()

    assert world.effect().state is EffectState.UNKNOWN


def test_a_review_for_an_overdue_effect_ends_when_its_request_turns_out_not_to_have_left() -> None:
    world = an_approved_world()
    given_up_in_mid_call(world, NEVER_SENT)
    give_up = world.payments.during_call
    assert give_up is not None

    def overdue_too() -> None:
        give_up()
        world.payments.read_fault = NO_ANSWER
        world.pass_seconds(RECOVERY_DEADLINE_SECONDS)
        world.reconcile()
        assert world.run().state is RunState.REVIEW

    world.payments.during_call = overdue_too
    with pytest.raises(ProviderUnavailable):
        world.perform()

    assert world.effect().state is EffectState.PLANNED
    assert world.run().state is RunState.ACTIVE
