"""An outage that a stage waits out is not mistaken for an execution that is stuck."""

import pytest

from ledger.errors import ProviderUnavailable
from ledger.event import EventKind
from ledger.life import showing_life
from ledger.task import Task
from tests.unit.ledger.sample import PAYMENTS, RUN_ID
from tests.unit.ledger.support import World, an_approved_world


def wait_out(world: World, epoch: int = 1) -> None:
    with (
        pytest.raises(ProviderUnavailable),
        showing_life(world.ports, Task(run_id=RUN_ID, epoch=epoch)),
    ):
        raise ProviderUnavailable("could not be read")


def notes(world: World) -> int:
    return world.kinds.count(EventKind.PROVIDER_UNREADABLE)


def test_an_outage_that_has_just_begun_leaves_no_event() -> None:
    world = an_approved_world()
    world.resume()

    wait_out(world)

    assert notes(world) == 0


def test_an_outage_of_hours_is_noted_now_and_then_and_the_sweeper_stays_away() -> None:
    world = an_approved_world()
    world.resume()
    deadline_seconds = world.run().progress_deadline_seconds
    retries = 40

    for _ in range(retries):
        world.pass_seconds(deadline_seconds // 4)
        wait_out(world)
        assert (world.run().due_at_ms or 0) > world.clock.now_ms()

    assert 0 < notes(world) < retries


def test_an_execution_that_was_replaced_shows_no_life() -> None:
    world = an_approved_world()
    world.resume()
    world.pass_seconds(world.run().progress_deadline_seconds)

    wait_out(world, epoch=0)

    assert notes(world) == 0


def test_a_worker_that_comes_back_to_a_run_that_has_ended_leaves_no_event() -> None:
    world = an_approved_world()
    world.payments.contract = PAYMENTS.model_copy(update={"rechecks_after_seconds": (3600,)})
    world.perform()
    world.perform("receipt")
    world.resume()
    assert world.run().due_at_ms is not None
    world.pass_seconds(3600)

    wait_out(world)

    assert notes(world) == 0


def test_a_stage_that_ends_well_leaves_no_event() -> None:
    world = an_approved_world()
    world.resume()
    world.pass_seconds(world.run().progress_deadline_seconds)

    with showing_life(world.ports, Task(run_id=RUN_ID, epoch=1)):
        pass

    assert notes(world) == 0
