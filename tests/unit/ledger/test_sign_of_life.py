"""When an outage is noted: from half of the progress deadline on, and what is written down."""

import pytest

from ledger.errors import ProviderUnavailable
from ledger.event import EventKind
from ledger.life import showing_life
from ledger.transitions import RunState
from tests.unit.ledger.sample import TASK
from tests.unit.ledger.support import World, an_approved_world


def half_a_deadline_before_due(shift_ms: int) -> World:
    """Return a world so many milliseconds after half of its progress deadline."""
    world = an_approved_world()
    due_at_ms = world.run().due_at_ms
    assert due_at_ms is not None
    world.clock.move_to(due_at_ms - world.run().progress_deadline_seconds * 500 + shift_ms)
    with pytest.raises(ProviderUnavailable), showing_life(world.ports, TASK):
        raise ProviderUnavailable("the directory gave no answer")
    return world


def test_given_an_outage_until_half_of_the_deadline_when_met_then_it_is_not_noted_yet() -> None:
    world = half_a_deadline_before_due(0)

    assert EventKind.PROVIDER_UNREADABLE not in world.kinds


def test_given_an_outage_beyond_half_of_the_deadline_when_met_then_the_trail_says_of_what() -> None:
    world = half_a_deadline_before_due(1)

    event = world.events[-1]
    assert event.kind == EventKind.PROVIDER_UNREADABLE
    assert event.reason == "the directory gave no answer"
    assert (event.prior_state, event.state) == (RunState.ACTIVE, RunState.ACTIVE)
