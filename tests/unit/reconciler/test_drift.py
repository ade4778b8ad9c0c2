"""Every open run, compared with the versions that are about to be deployed."""

from typing import Any

import pytest

from ledger.errors import InvariantBroken, LedgerUnavailable
from ledger.event import EventKind
from ledger.instance import is_stuck
from ledger.run import RunLedger
from ledger.transitions import RunState
from ledger.versions import Versions
from ledger.workflow import WorkflowDefinition
from reconciler.drift import PAGE_SIZE_RUNS, Drift, OpenRun, Standing, find_drift, standing_of
from tests.builders import a_change, a_run
from tests.unit.ledger.sample import DEFINITION, REQUEST, RUN_ID
from tests.unit.ledger.situations import (
    SITUATIONS,
    refund_confirmed,
    refund_unknown,
)
from tests.unit.ledger.support import World, a_world, an_approved_world
from tests.unit.ledger.versions import a_migration, altered, renumbered, with_fee

SAME = Versions({DEFINITION.version: DEFINITION})
OPEN = [name for name, make in SITUATIONS.items() if make().run().is_open]


def replaced_by(new: WorkflowDefinition, checkpoints: Any = None) -> Versions:
    """Return versions without the sample's own, from which a migration leads to ``new``."""
    return Versions({new.version: new}, (a_migration(new, checkpoints),))


def found_in(world: World, versions: Versions) -> OpenRun:
    """Return how the sample run stands."""
    (found,) = find_drift(world.store, versions).runs
    return found


def more_runs(world: World, count: int, **changes: Any) -> None:
    """Put more runs into the ledger."""
    for number in range(count):
        world.store.commit(
            a_change(
                f"commit-{number}",
                run=a_run(
                    run_id=f"run_extra{number}",
                    **{"workflow": DEFINITION.version, "request": REQUEST, **changes},
                ),
            )
        )


@pytest.mark.parametrize("name", OPEN)
def test_given_its_own_version_as_it_was_when_compared_then_any_run_is_compatible(
    name: str,
) -> None:
    found = found_in(SITUATIONS[name](), SAME)

    assert (found.standing, found.reason) == (Standing.COMPATIBLE, "")
    assert found.goes_on_as == DEFINITION.version


@pytest.mark.parametrize("name", sorted(set(SITUATIONS) - set(OPEN)))
def test_given_a_run_that_has_ended_when_compared_then_it_is_no_matter_of_a_deploy(
    name: str,
) -> None:
    world = SITUATIONS[name]()

    assert find_drift(world.store, Versions()) == Drift(runs=(), complete=True)


def test_given_an_ended_run_that_is_looked_at_again_when_compared_then_it_is_left_out() -> None:
    world = a_world()
    more_runs(world, 1, state=RunState.COMPLETED)

    assert [run.run_id for run in find_drift(world.store, SAME).runs] == [RUN_ID]


@pytest.mark.parametrize("name", OPEN)
def test_given_its_version_is_taken_away_when_compared_then_every_open_run_is_stuck(
    name: str,
) -> None:
    world = SITUATIONS[name]()

    drift = find_drift(world.store, Versions({"give-back@3": renumbered()}))

    (found,) = drift.runs
    assert found.standing is Standing.STUCK
    assert "give-back@2 is not registered, and no migration leads" in found.reason
    assert found.goes_on_as == ""
    assert not drift.may_deploy


def test_given_a_migration_when_compared_then_it_is_named_with_its_reason() -> None:
    found = found_in(an_approved_world(), replaced_by(renumbered()))

    assert found.standing is Standing.MIGRATABLE
    assert (found.goes_on_as, found.reason) == ("give-back@3", "the new one is better")
    assert (found.workflow, found.state) == ("give-back@2", "active")


def test_given_an_effect_of_unknown_outcome_when_compared_then_that_it_comes_first_is_said() -> (
    None
):
    found = found_in(refund_unknown(), replaced_by(renumbered()))

    assert found.standing is Standing.MIGRATABLE
    assert found.reason.startswith("after refund was looked up")


@pytest.mark.parametrize(
    "versions",
    [
        replaced_by(renumbered(definition=with_fee())),
        Versions({DEFINITION.version: with_fee()}),
        Versions({DEFINITION.version: altered("operations", 0, moves_money=False)}),
    ],
    ids=["by a migration", "in its own version", "another consequence"],
)
def test_given_something_else_would_be_done_when_compared_then_it_needs_a_fresh_approval(
    versions: Versions,
) -> None:
    drift = find_drift(an_approved_world().store, versions)

    (found,) = drift.runs
    assert found.standing is Standing.NEEDS_FRESH_APPROVAL
    assert "would be done differs" in found.reason
    assert drift.may_deploy  # the next stage asks


@pytest.mark.parametrize(
    "versions",
    [
        replaced_by(renumbered(definition=altered("operations", 0, provider="post"))),
        Versions({DEFINITION.version: altered("operations", 0, provider="post")}),
        replaced_by(renumbered(), {"refund_confirmed": None}),
    ],
    ids=["by a migration", "in its own version", "a claim that is left behind"],
)
def test_given_records_that_would_not_fit_when_compared_then_the_run_is_stuck(
    versions: Versions,
) -> None:
    found = found_in(refund_confirmed(), versions)

    assert found.standing is Standing.STUCK
    assert "refund" in found.reason


def test_given_a_version_that_stays_when_compared_then_a_migration_from_it_is_no_matter() -> None:
    new = renumbered()
    both = Versions({found.version: found for found in (DEFINITION, new)}, (a_migration(new),))

    assert found_in(an_approved_world(), both).standing is Standing.COMPATIBLE


def test_given_many_runs_when_compared_then_each_is_read_once_and_the_worst_come_first() -> None:
    world = an_approved_world()
    more_runs(world, 2 * PAGE_SIZE_RUNS + 7)
    world.store.commit(a_change("gone", run=a_run(run_id="run_gone", workflow="give-back@1")))

    drift = find_drift(world.store, SAME)

    assert len(drift.runs) == len({found.run_id for found in drift.runs})
    assert len(drift.runs) == 2 * PAGE_SIZE_RUNS + 7 + 2
    assert drift.runs[0].run_id == "run_gone"
    assert drift.complete
    assert drift.counts() == {
        "give-back@1": {Standing.STUCK: 1},
        "give-back@2": {Standing.COMPATIBLE: 2 * PAGE_SIZE_RUNS + 8},
    }


def test_given_more_runs_than_are_read_when_compared_then_the_deploy_is_refused() -> None:
    world = an_approved_world()
    more_runs(world, 3)

    drift = find_drift(world.store, SAME, max_runs=3)

    assert len(drift.runs) == 3
    assert not drift.complete
    assert not drift.may_deploy
    assert find_drift(world.store, SAME, max_runs=4).may_deploy


def test_given_a_run_that_moves_on_while_others_are_read_then_it_is_counted_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = an_approved_world()
    due = world.store.due

    def twice(*asked: Any) -> Any:
        page = due(*asked)
        return page.model_copy(update={"run_ids": page.run_ids * 2})

    monkeypatch.setattr(world.store, "due", twice)

    assert len(find_drift(world.store, SAME).runs) == 1


def test_given_a_run_that_cannot_be_read_when_compared_then_it_is_stuck_and_hides_no_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = an_approved_world()
    more_runs(world, 2)
    load = world.store.load

    def broken(run_id: str) -> RunLedger | None:
        if run_id == RUN_ID:
            raise InvariantBroken("a record of newer code")
        return load(run_id)

    monkeypatch.setattr(world.store, "load", broken)

    drift = find_drift(world.store, SAME)

    assert [found.standing for found in drift.runs] == [
        Standing.STUCK,
        Standing.COMPATIBLE,
        Standing.COMPATIBLE,
    ]
    assert "a record of newer code" in drift.runs[0].reason


def test_given_a_store_that_gives_no_answer_then_nothing_is_concluded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = an_approved_world()

    def silent(run_id: str) -> None:
        raise LedgerUnavailable(f"no answer about {run_id}")

    monkeypatch.setattr(world.store, "load", silent)

    with pytest.raises(LedgerUnavailable):
        find_drift(world.store, SAME)


@pytest.mark.parametrize("name", OPEN)
def test_what_is_told_of_a_run_is_what_a_move_then_comes_to(name: str) -> None:
    # Given any run, and the two versions that it would find after the deploy.
    world = SITUATIONS[name]()
    world.versions = replaced_by(renumbered())
    standing = standing_of(world.ledger, world.versions).standing
    if world.run().state is RunState.REVIEW and any(
        is_stuck(world.ledger, found) for found in world.ledger.effects
    ):
        # A person decides by the old version's rules, and could not any more.
        assert standing is Standing.STUCK
        return

    # When the deploy has happened and the run is looked after.
    world.executions.machines = {"give-back@3"}
    world.executions.statuses.clear()
    if world.run().state is not RunState.REVIEW:
        for _ in range(4):
            world.clock.move_to(max(world.run().due_at_ms or 0, world.clock.now_ms()))
            world.sweep()
            world.executions.statuses.clear()

    # Then one that was called migratable was moved, or waits for the provider or a person.
    assert standing is Standing.MIGRATABLE
    kinds = {event.kind for event in world.events}
    waits = bool(world.ledger.unsettled_effects()) or world.run().state is RunState.REVIEW
    assert EventKind.RUN_MIGRATED in kinds or waits
    assert "no compatible version" not in world.run().review_reason
