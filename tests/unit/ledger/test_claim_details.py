"""What a claim writes down, and how long a provider that was not reached is given."""

import pytest

from ledger.approval import Approval
from ledger.errors import ProviderUnavailable
from ledger.idempotency import idempotency_key_for
from ledger.jitter import jittered
from ledger.pace import FIRST_PAUSE_SECONDS
from ledger.settle import evidence_of
from ledger.transitions import EffectState
from tests.unit.ledger.sample import (
    BOUND,
    NEVER_SENT,
    REFUND_ID,
    RUN_ID,
    a_record,
    a_refund,
)
from tests.unit.ledger.scripted_provider import Step
from tests.unit.ledger.support import World, a_world, an_approved_world, given
from tests.unit.ledger.versions import with_fee


def not_reached(times: int) -> World:
    """Return a world whose refund never left, so many times in a row."""
    world = an_approved_world()
    for before in range(times):
        world.pass_seconds(2**before if before else 0)
        world.payments.script = [Step(None, NEVER_SENT)]
        with pytest.raises(ProviderUnavailable, match="never reached"):
            world.perform()
    return world


def asked_and_spent(world: World, spent_on: dict[str, str]) -> Approval:
    """Return the run's approval with parts of it spent."""
    approval = world.ledger.newest_approval()
    assert approval is not None
    return approval.model_copy(update={"spent_on": spent_on})


@pytest.mark.parametrize("times", [1, 2, 3])
def test_given_a_provider_that_was_not_reached_when_tried_again_then_only_after_its_pause(
    times: int,
) -> None:
    world = not_reached(times)
    claimed_at_ms = world.clock.now_ms()
    pause_seconds = jittered(FIRST_PAUSE_SECONDS << times, "attempt", REFUND_ID, times)

    with pytest.raises(ProviderUnavailable, match=f"waits another {pause_seconds} s"):
        world.perform()
    world.clock.move_to(claimed_at_ms + pause_seconds * 1000 - 1)
    with pytest.raises(ProviderUnavailable, match="waits another 1 s"):
        world.perform()
    world.clock.move_to(claimed_at_ms + pause_seconds * 1000)

    assert world.perform().state is EffectState.CONFIRMED


def test_given_a_yes_to_several_writes_when_one_uses_it_then_what_the_others_used_stays() -> None:
    world = a_world(with_fee())
    asked = world.ask().newest_approval()
    assert asked is not None
    world.decide(digest=asked.digest)
    given(world, asked_and_spent(world, {"fee": "eff_fee"}))

    world.perform()

    spent = world.ledger.newest_approval()
    assert spent is not None
    assert spent.spent_on == {"fee": "eff_fee", "refund": REFUND_ID}


def test_given_traces_of_an_older_search_when_claimed_then_the_new_attempt_begins_without() -> None:
    world = an_approved_world()
    old = evidence_of(a_refund(), a_record(mark=None), 1)
    refund = a_refund(absence_reads_at_ms=(1, 2), candidates=(old,))
    given(world, refund)
    seen = []
    world.payments.during_call = lambda: seen.append(world.effect())

    world.perform()

    (claimed,) = seen
    assert claimed.state is EffectState.ATTEMPTING
    assert claimed.absence_reads_at_ms == ()
    assert claimed.candidates == ()


def test_given_a_key_that_was_forgotten_when_claimed_then_the_next_one_is_derived_alike() -> None:
    world = a_world()
    world.approve()
    given(world, a_refund(key_first_used_at_ms=1, key_protects_until_ms=world.clock.now_ms()))

    world.perform()

    effect = world.effect()
    assert effect.generation == 2
    assert effect.idempotency_key == idempotency_key_for(RUN_ID, "refund", BOUND, 1, 2)
    assert effect.key_protects_until_ms is not None
