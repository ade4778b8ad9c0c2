"""A run goes on as another version by an explicit step, with everything that is proven."""

from typing import TYPE_CHECKING

from ledger.checkpoint import Checkpoint
from ledger.effect import Effect
from ledger.event import EventKind
from ledger.offer import RecoveryAction
from ledger.run import RunLedger
from ledger.store import Change
from ledger.versions import Migration
from ledger.workflow import WorkflowDefinition

if TYPE_CHECKING:
    from tests.simulation.check import Check
    from tests.simulation.process import Process


def check_move(
    check: "Check", process: "Process", before: RunLedger, after: RunLedger, change: Change
) -> None:
    """A version changes by its event, when it is gone or somebody wants so; nothing is lost."""
    old, new = before.run.workflow, after.run.workflow
    if old == new:
        return
    told = [found for found in change.events if found.kind is EventKind.RUN_MIGRATED]
    said = [(found.prior_state, found.state) for found in told]
    check.require("move", f"{said} is told of {old} to {new}", holds=said == [(old, new)])
    deploys = check.world.deploys
    wanted = any(
        found.kind is EventKind.OPERATOR_ACTED
        and found.details.get("action") == RecoveryAction.MOVE
        for found in change.events
    )
    gone = old in deploys.removed
    check.require("move", "its version is deployed, and nobody wants it", holds=gone or wanted)
    versions = process.ports.versions
    way = versions.way_on(old) if versions else None
    leads = way is not None and way.new.version == new
    check.require("move", "no migration leads there", holds=leads)
    assert way is not None
    unsettled = [found.operation for found in before.unsettled_effects()]
    check.require("move", f"{unsettled} is unsettled", holds=not unsettled)
    fenced = after.run.epoch > before.run.epoch
    check.require("move", "its execution is not replaced", holds=fenced)
    check.moved.add(after.run.run_id)
    _check_effects(check, before, after, way.migration)
    _check_proofs(check, before, after, way.migration)
    _check_claims(check, deploys.known[new], after)


def _check_effects(
    check: "Check", before: RunLedger, after: RunLedger, migration: Migration
) -> None:
    """Every effect is still there, as it was; what it proves may be called otherwise."""

    expected = [
        {
            **_facts(found),
            "checkpoint": migration.checkpoints.get(found.checkpoint) or found.checkpoint,
        }
        for found in before.effects
    ]
    same = expected == [_facts(found) for found in after.effects]
    check.require("move", "an effect is lost or changed", holds=same)
    yes = [(found.approval_id, found.payload, found.state) for found in before.approvals]
    kept = [(found.approval_id, found.payload, found.state) for found in after.approvals]
    check.require("move", "an approval is lost or changed", holds=yes == kept)


def _facts(effect: Effect) -> dict[str, object]:
    """Return what is on record of an effect, without what a version or a person allows it."""
    return effect.model_dump(exclude={"proof_fields", "attempts_forgiven"})


def _check_proofs(
    check: "Check", before: RunLedger, after: RunLedger, migration: Migration
) -> None:
    """What an effect has proven is proven still."""
    for found in before.checkpoints:
        name = migration.checkpoints.get(found.name, found.name)
        if name is None:
            left = after.proven(found.name)
            check.require("move", f"{found.name} is to be left behind", holds=left is None)
        if found.effect_id is None or name is None or before.proven(found.name) is None:
            continue
        carried = after.proven(name)
        same = carried is not None and carried.effect_id == found.effect_id
        check.require("move", f"the proof of {found.name} is lost", holds=same)
        assert carried is not None
        check.require("move", "with other evidence", holds=carried.evidence == found.evidence)


def _check_claims(check: "Check", definition: WorkflowDefinition, after: RunLedger) -> None:
    """What holds under the new version is what that version asks for."""
    for found in after.checkpoints:
        if after.proven(found.name) is not None:
            why = _unmet(definition, found)
            check.require("move", f"{found.name} is carried, and {why}", holds=not why)


def _unmet(definition: WorkflowDefinition, proof: Checkpoint) -> str:
    contract = next((x for x in definition.contracts if x.checkpoint == proof.name), None)
    if contract is None:
        return "there is no such claim"
    if proof.evidence.source != contract.owner:
        return f"{contract.owner} has not said so"
    lacking = set(contract.evidence_fields) - set(proof.evidence.fields)
    return f"{sorted(lacking)} is not on record" if lacking else ""
