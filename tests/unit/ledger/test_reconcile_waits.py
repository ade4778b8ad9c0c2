"""How long an execution waits for the next read, and why a person is told of a key."""

import pytest

from ledger.due import FIRST_READ_WAIT_SECONDS, read_wait_seconds
from ledger.reconcile import outcome_of
from ledger.transitions import EffectState
from tests.unit.ledger.sample import NO_ANSWER, SETTLE_WINDOW_SECONDS, a_refund
from tests.unit.ledger.support import World, a_world, an_unknown_world, given


def waits(world: World, state: EffectState, left_ms: int, reads: int) -> int:
    """Return how long is waited when a read of absence counts again in ``left_ms``."""
    world.pass_seconds(SETTLE_WINDOW_SECONDS)  # and no claim is live any more
    read_at_ms = world.clock.now_ms() - SETTLE_WINDOW_SECONDS * 1000 + left_ms
    given(world, a_refund(state, absence_reads_at_ms=(read_at_ms,), reconcile_reads=reads))
    return outcome_of(world.ledger, world.ports).wait_seconds


def test_given_an_accepted_record_that_was_absent_when_waited_for_then_as_for_any_read() -> None:
    left_ms = SETTLE_WINDOW_SECONDS * 1000

    assert waits(a_world(), EffectState.ACCEPTED, left_ms, reads=0) <= FIRST_READ_WAIT_SECONDS


@pytest.mark.parametrize(
    ("left_ms", "seconds"),
    [(1001, 2), (1, 1), (0, read_wait_seconds(a_refund(reconcile_reads=9)))],
)
def test_given_a_read_of_absence_when_the_next_counts_in_a_moment_then_it_comes_right_then(
    left_ms: int, seconds: int
) -> None:
    assert waits(a_world(), EffectState.UNKNOWN, left_ms, reads=9) == seconds


def test_given_a_key_that_is_about_to_lapse_when_a_person_is_told_then_with_what_was_read() -> None:
    world = an_unknown_world()
    world.payments.read_fault = NO_ANSWER
    notice_at_ms = world.effect().key_notice_at_ms()
    assert notice_at_ms is not None
    world.clock.move_to(notice_at_ms)

    world.reconcile()

    assert world.run().review_reason == (
        "refund is unknown and its key is about to lapse: "
        f"the provider could not be read: {NO_ANSWER}"
    )
