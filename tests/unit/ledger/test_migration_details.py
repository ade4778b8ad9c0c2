"""How long a deploy is waited for, and what is told of a move that needs nobody."""

from ledger.migration import DEPLOY_SECONDS, Moved, migrate, plan_move
from ledger.transitions import RunState
from ledger.versions import Versions
from tests.unit.ledger.sample import DEFINITION, OPERATOR, RUN_ID
from tests.unit.ledger.support import a_world
from tests.unit.ledger.test_migration import REWORDED
from tests.unit.ledger.versions import is_replaced


def test_given_a_version_that_comes_late_when_not_too_late_then_the_run_still_waits() -> None:
    world = a_world()
    world.versions = Versions({DEFINITION.version: DEFINITION})
    world.clock.pass_ms(DEPLOY_SECONDS * 1000 - 1)

    assert migrate(world.ports, RUN_ID, DEFINITION.version, OPERATOR) is Moved.LEFT
    assert world.run().state is RunState.ACTIVE


def test_given_a_way_on_when_moved_then_both_who_move_the_run_are_told_that_it_was() -> None:
    world = a_world()
    is_replaced(world, REWORDED)

    told = [migrate(world.ports, RUN_ID, DEFINITION.version, OPERATOR) for _ in (1, 2)]

    assert told == [Moved.MIGRATED, Moved.MIGRATED]
    assert world.run().workflow == REWORDED.version


def test_given_nothing_asked_yet_when_a_move_is_planned_then_nothing_is_asked_again() -> None:
    assert plan_move(a_world().ledger, DEFINITION, REWORDED, {}).asks_again == ""
