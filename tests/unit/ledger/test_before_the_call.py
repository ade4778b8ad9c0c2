"""What is seen or found out just before a write is made, and what is then on record."""

import pytest

from ledger.authorise import approval_payload
from ledger.errors import (
    EffectUnknown,
    InvariantBroken,
    ProviderUnavailable,
    ReviewRequired,
)
from ledger.event import EventKind
from ledger.transitions import RunState
from tests.unit.ledger.sample import LEASE_SECONDS, NEVER_SENT, NO_ANSWER, TASK, a_record
from tests.unit.ledger.scripted_provider import Step
from tests.unit.ledger.support import an_approved_world
from tests.unit.ledger.test_counter import fee_refused
from tests.unit.ledger.versions import FEE


def test_given_a_write_that_is_proven_when_asked_anew_then_only_what_is_left_is_asked() -> None:
    world = fee_refused()

    assert set(approval_payload(world.definition, world.ledger)) >= {FEE.name}
    assert "refund" not in approval_payload(world.definition, world.ledger)


def test_given_attempts_that_never_left_when_tried_again_then_they_are_counted_from_one() -> None:
    world = an_approved_world()
    for _ in range(2):
        world.payments.script = [Step(None, NEVER_SENT)]
        with pytest.raises(ProviderUnavailable):
            world.perform()
        world.pass_seconds(3600)
    effect = world.perform()

    assert [found.number for found in effect.attempts] == [1, 2, 3]
    said = [found.reason for found in world.events if found.kind is EventKind.EFFECT_CLAIMED]
    assert said == [f"attempt {number} under key generation 1" for number in (1, 2, 3)]


def test_given_a_record_that_shows_after_all_when_tried_again_then_who_saw_it_is_on_record() -> (
    None
):
    world = an_approved_world()
    world.payments.script = [Step(None, NO_ANSWER)]
    with pytest.raises(EffectUnknown):
        world.perform()
    world.prove_absence()
    world.payments.held.append(a_record())

    with pytest.raises(EffectUnknown, match="may exist after all"):
        world.perform()

    assert world.events[-1].actor == TASK.actor
    assert len(world.payments.calls) == 1


def test_given_bytes_that_nobody_can_read_when_about_to_send_then_a_person_looks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = an_approved_world()

    def cannot_be_read(_params: object) -> None:
        raise InvariantBroken("The amount is no number.")

    monkeypatch.setattr(world.payments, "consequence", cannot_be_read)
    with pytest.raises(ReviewRequired) as required:
        world.perform()

    assert str(required.value) == "refund: The amount is no number. Nothing was sent."
    assert world.run().state is RunState.REVIEW
    assert str(required.value) in world.run().review_reason
    assert world.payments.calls == []


def test_given_a_clock_set_back_before_the_claim_when_it_may_lapse_then_nothing_is_sent() -> None:
    world = an_approved_world()
    lease_ms = LEASE_SECONDS * 1000
    world.payments.during_authority = lambda: world.clock.pass_ms(-lease_ms)
    world.store.rivals.append(lambda: world.clock.pass_ms(lease_ms))

    # By the time since the check alone it is not too late, and yet the claim has lapsed.
    with pytest.raises(ProviderUnavailable):
        world.perform(remaining_ms=10 * lease_ms)

    assert world.payments.calls == []
    assert len(world.effect().attempts) == 1
