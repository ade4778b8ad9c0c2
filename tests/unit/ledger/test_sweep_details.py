"""What a sweep writes down before it looks."""

from ledger.event import EventKind
from ledger.transitions import RunState
from tests.unit.ledger.situations import refund_unknown
from tests.unit.ledger.support import wait_until_due


def test_given_a_run_that_is_due_when_swept_then_its_claim_says_where_the_run_stood() -> None:
    world = refund_unknown()
    wait_until_due(world)

    world.sweep()

    (claimed,) = [event for event in world.events if event.kind == EventKind.SWEEP_CLAIMED]
    assert (claimed.prior_state, claimed.state) == (RunState.ACTIVE, RunState.ACTIVE)
    assert claimed.actor.kind == "reconciler"
