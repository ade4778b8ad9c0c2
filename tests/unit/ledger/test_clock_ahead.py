"""A worker whose clock was hours ahead: its claim holds no longer than a call can last."""

import pytest

from ledger.due import MIN_LOOK_INTERVAL_SECONDS, next_look_at_ms
from ledger.effect import CLOCK_SKEW_SECONDS, LONGEST_LEASE_SECONDS
from ledger.errors import EffectUnknown
from ledger.reconcile import Standing
from ledger.transitions import EffectState
from tests.builders import NOW_MS, an_attempt
from tests.unit.ledger.sample import HOUR_SECONDS, LEASE_SECONDS, a_refund
from tests.unit.ledger.support import World, an_approved_world, given

BELIEVED_SECONDS = LONGEST_LEASE_SECONDS + CLOCK_SKEW_SECONDS


def claimed_ahead(seconds: int) -> World:
    """Return a world with a claim by a worker whose clock was so far ahead."""
    world = an_approved_world()
    claimed_at_ms = world.clock.now_ms() + seconds * 1000
    attempt = an_attempt(
        claimed_at_ms=claimed_at_ms, lease_until_ms=claimed_at_ms + LEASE_SECONDS * 1000
    )
    given(world, a_refund(EffectState.ATTEMPTING, attempts=(attempt,)))
    return world


@pytest.mark.parametrize(
    ("left_ms", "live"),
    [
        (0, False),
        (1, True),
        (LONGEST_LEASE_SECONDS * 1000, True),
        (BELIEVED_SECONDS * 1000, True),
        (BELIEVED_SECONDS * 1000 + 1, False),
        (6 * HOUR_SECONDS * 1000, False),
    ],
)
def test_given_a_lease_when_it_ends_later_than_any_can_then_it_has_lapsed(
    left_ms: int, live: bool
) -> None:
    refund = a_refund(
        EffectState.ATTEMPTING, attempts=(an_attempt(lease_until_ms=NOW_MS + left_ms),)
    )

    assert refund.claim_is_live(NOW_MS) is live


def test_given_a_clock_that_was_hours_ahead_when_reconciled_then_the_effect_is_unknown() -> None:
    world = claimed_ahead(6 * HOUR_SECONDS)

    world.reconcile()

    assert world.effect().state is EffectState.UNKNOWN
    with pytest.raises(EffectUnknown):
        world.perform()
    assert world.payments.calls == []


@pytest.mark.parametrize("seconds", [1, 5, CLOCK_SKEW_SECONDS])
def test_given_a_clock_that_is_seconds_ahead_when_reconciled_then_its_worker_is_waited_for(
    seconds: int,
) -> None:
    world = claimed_ahead(seconds)

    outcome = world.reconcile()

    assert world.effect().state is EffectState.ATTEMPTING
    assert (outcome.standing, outcome.wait_seconds) == (Standing.WAIT, seconds + LEASE_SECONDS)


def test_given_a_clock_that_was_hours_ahead_when_the_sweeper_would_look_then_it_looks_at_once() -> (
    None
):
    world = claimed_ahead(6 * HOUR_SECONDS)
    soon_ms = world.clock.now_ms() + MIN_LOOK_INTERVAL_SECONDS * 1000

    assert next_look_at_ms(world.ledger, world.clock.now_ms()) == soon_ms
    reviewed = world.change(lambda draft: draft.send_to_review("somebody looks"))
    assert next_look_at_ms(reviewed, world.clock.now_ms()) == soon_ms
