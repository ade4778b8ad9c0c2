"""The registered migrations: each names what its versions have, and what they mean for a run."""

import pytest

from ledger.approval import Approval
from ledger.consequence import consequences_of
from ledger.migration import plan_move
from ledger.run import RunLedger
from ledger.versions import Migration
from tests.builders import a_run
from tests.unit.ledger.support import World
from workflows.migrations import MIGRATIONS, VERSIONS, with_versions
from workflows.registry import REGISTRY

REQUEST = {
    "customer_id": "cus_1",
    "subscription_id": "sub_1",
    "charge_id": "ch_1",
    "amount_minor": 7900,
    "currency": "USD",
}


def name(migration: Migration) -> str:
    return f"{migration.from_version} to {migration.to_version}"


@pytest.mark.parametrize("migration", MIGRATIONS, ids=name)
def test_a_migration_leads_to_a_registered_version_and_names_what_there_is(
    migration: Migration,
) -> None:
    new = REGISTRY[migration.to_version]
    old = REGISTRY.get(migration.from_version)

    assert old is None or migration.misfits(old, new) == []


def test_no_two_migrations_lead_from_one_version_to_the_same_one() -> None:
    steps = [(found.from_version, found.to_version) for found in MIGRATIONS]

    assert len(set(steps)) == len(steps)


def test_from_version_3_to_4_a_run_loses_nothing_and_nobody_is_asked_again() -> None:
    old, new = REGISTRY["cancel-refund@3"], REGISTRY["cancel-refund@4"]
    way = VERSIONS.way_on("cancel-refund@3")
    assert way is not None
    assert way.new.version == new.version
    payload = {found.name: dict(found.fixed) for found in old.approved_operations}
    yes = Approval(
        approval_id="apr_1",
        workflow=old.version,
        checkpoint="request_approved",
        payload=payload,
        consequences=consequences_of(old),
        digest="",
        requested_at_ms=1,
        expires_at_ms=2,
    )
    ledger = RunLedger(run=a_run(workflow=old.version, request=REQUEST), approvals=(yes,))

    move = plan_move(ledger, old, new, way.migration.checkpoints)

    assert set(payload) == {"refund", "cancel_renewal"}
    assert (move.obstacles, move.asks_again, move.left) == ((), "", {})


def test_a_process_that_may_move_runs_is_given_every_registered_version() -> None:
    world = World()

    ports = with_versions(world.ports)

    assert ports.versions is VERSIONS
    assert set(VERSIONS.definitions) == set(REGISTRY)
    assert ports.store is world.store
