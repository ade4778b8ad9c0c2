"""The trail of a whole run: gapless, chained from state to state, free of personal data."""

from collections.abc import Callable
from itertools import pairwise

import pytest

from ledger.errors import EffectUnknown, ReviewRequired
from ledger.event import Event
from ledger.provider import RecordStatus
from ledger.transitions import EffectState, RunState
from tests.unit.ledger.sample import (
    APPROVAL_LIFETIME_SECONDS,
    CARD_DECLINED,
    NO_ANSWER,
    RECOVERY_DEADLINE_SECONDS,
    REFUND_ID,
    RUN_ID,
)
from tests.unit.ledger.scripted_provider import Step
from tests.unit.ledger.support import World, a_world

PERSONAL = ("ada@example.com", "Ada")


def begin() -> World:
    """Return a world whose customer said yes."""
    world = a_world(execution_started=False)
    world.resume()
    world.approve()
    world.resume()
    return world


def finish(world: World) -> None:
    """Do what is left to do."""
    world.perform()
    world.perform("receipt")
    world.resume()


def a_straight_run() -> World:
    """Return a run in which everything worked at once."""
    world = begin()
    finish(world)
    return world


def a_run_with_a_lost_write() -> World:
    """Return a run whose refund was attempted twice under two approvals."""
    world = begin()
    world.payments.script = [Step(None, NO_ANSWER)]
    with pytest.raises(EffectUnknown):
        world.perform()
    world.prove_absence()
    world.pass_seconds(APPROVAL_LIFETIME_SECONDS)
    world.ask("token-2")
    world.decide(ordinal=2)
    finish(world)
    return world


def a_run_with_a_lost_answer() -> World:
    """Return a run whose refund was found only after somebody had been told."""
    world = begin()
    world.payments.script = [Step(RecordStatus.DONE, NO_ANSWER)]
    with pytest.raises(EffectUnknown):
        world.perform()
    world.payments.read_fault = NO_ANSWER
    world.pass_seconds(RECOVERY_DEADLINE_SECONDS)
    world.sweep()
    world.payments.read_fault = None
    world.reconcile()
    finish(world)
    return world


def a_refused_run() -> World:
    """Return a run whose refund the provider refused."""
    world = begin()
    world.payments.script = [Step(None, CARD_DECLINED)]
    with pytest.raises(ReviewRequired):
        world.perform()
    return world


STORIES = [a_straight_run, a_run_with_a_lost_write, a_run_with_a_lost_answer, a_refused_run]
story = pytest.mark.parametrize("told", STORIES, ids=lambda found: found.__name__)


def states_of(events: tuple[Event, ...], subject: str) -> list[tuple[str, str]]:
    """Return the (prior, next) states that the events of a subject name."""
    return [(event.prior_state, event.state) for event in events if event.subject == subject]


@story
def test_events_are_numbered_without_a_gap_and_never_run_backwards(
    told: Callable[[], World],
) -> None:
    events = told().events

    assert [event.sequence for event in events] == list(range(1, len(events) + 1))
    assert [event.at_ms for event in events] == sorted(event.at_ms for event in events)
    assert all(event.actor.actor_id and event.reason for event in events)


@story
def test_each_event_of_an_effect_begins_where_the_last_one_ended(
    told: Callable[[], World],
) -> None:
    world = told()
    moves = states_of(world.events, REFUND_ID)

    assert moves[0] == ("", EffectState.PLANNED)
    for (_, ended), (began, _) in pairwise(moves):
        assert began == ended
    assert moves[-1][1] == world.effect().state


@story
def test_each_event_of_a_run_begins_where_the_last_one_ended(told: Callable[[], World]) -> None:
    world = told()
    moves = [move for move in states_of(world.events, RUN_ID) if move != ("", "")]

    assert moves[0][0] == RunState.ACTIVE
    for (_, ended), (began, _) in pairwise(moves):
        assert began == ended
    assert moves[-1][1] == world.run().state


@story
def test_money_is_paid_at_most_once_and_told_at_most_once(told: Callable[[], World]) -> None:
    world = told()

    assert len(world.payments.held) <= 1
    assert len(world.post.held) <= 1
    for mail in world.post.held:
        assert mail.fields["refund_id"] == world.payments.held[0].record_id


@story
def test_nothing_personal_is_in_the_ledger_outside_its_erasable_place(
    told: Callable[[], World],
) -> None:
    world = told()
    kept = repr(world.ledger) + "".join(event.model_dump_json() for event in world.events)

    assert not any(personal in kept for personal in PERSONAL)
    for call in (*world.payments.calls, *world.post.calls):
        assert not any(personal in call.idempotency_key for personal in PERSONAL)
