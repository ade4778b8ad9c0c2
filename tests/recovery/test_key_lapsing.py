"""A refund stays unknown for as long as its key lives: a person is told before the key lapses."""

import pytest

from ledger.event import Actor, Event, EventKind
from ledger.transitions import EffectState, RunState
from ledger.update import update
from providers.stripe_refunds import CONTRACT
from tests.recovery.invariants import check_invariants
from tests.recovery.reviews import refund_overdue
from tests.recovery.scenario import finish, posts, refund_of
from tests.recovery.world import TICK_MS, World

OPERATOR = Actor(kind="operator", actor_id="operator-1")
# A quiet world stops by itself after some looks; so often it is asked to go on.
MAX_RUNS = 100


def overdue_refund() -> World:
    """Return a world whose refund was told as overdue, minutes after its answer was lost."""
    world = World()
    refund_overdue(world)
    (told,) = told_of(world, EventKind.EFFECT_OVERDUE)
    claimed_at_ms = refund_of(world.ledger).attempts[0].claimed_at_ms
    assert told.at_ms - claimed_at_ms < 10 * CONTRACT.recovery_deadline_seconds * 1000
    return world


def told_of(world: World, kind: EventKind) -> list[Event]:
    """Return what was told of the refund."""
    return [event for event in world.events if event.kind is kind]


def lapses_ms(world: World) -> int:
    """Return when the refund's key protects nothing any more."""
    at_ms = refund_of(world.ledger).key_protects_until_ms
    assert at_ms is not None
    return at_ms


def wait_until(world: World, until_ms: int) -> None:
    """Let everybody act up to a moment, however quiet it is."""
    for _ in range(MAX_RUNS):
        world.run(until_ms=until_ms)
    world.clock.move_to(until_ms)


@pytest.mark.parametrize("asked", [False, True], ids=["overdue alone", "a person asked as well"])
def test_given_an_overdue_refund_when_its_key_is_about_to_lapse_then_a_person_is_told_once_before(
    asked: bool,
) -> None:
    world = overdue_refund()
    if asked:  # no review that ends by itself, so it is looked after once a day
        world.processes.run(
            "operator",
            lambda ports: update(
                ports,
                world.ledger.run.run_id,
                OPERATOR,
                lambda draft: draft.send_to_review("somebody has to look at the account"),
            ),
        )
    assert told_of(world, EventKind.KEY_LAPSING) == []

    wait_until(world, lapses_ms(world))

    (told,) = told_of(world, EventKind.KEY_LAPSING)
    notice_ms = lapses_ms(world) - CONTRACT.key_notice_seconds * 1000
    assert notice_ms <= told.at_ms <= notice_ms + TICK_MS
    assert told.reason == "unknown and its key is about to lapse"
    assert world.ledger.run.state is RunState.REVIEW
    assert "refund is unknown and its key is about to lapse" in world.ledger.run.review_also[-1]
    check_invariants(world)
    wait_until(world, lapses_ms(world) + 48 * 3_600_000)
    assert told_of(world, EventKind.KEY_LAPSING) == [told]
    assert len(posts(world)) == 1


def test_given_a_refund_that_is_found_in_time_when_its_key_lapses_then_nobody_is_told() -> None:
    world = overdue_refund()
    world.outside.stripe_reachable = True

    finish(world)
    wait_until(world, lapses_ms(world) + TICK_MS)

    assert refund_of(world.ledger).state is EffectState.CONFIRMED
    assert told_of(world, EventKind.KEY_LAPSING) == []
