"""Move a run from one version to another: an explicit step, checked, and recorded as an event."""

from collections.abc import Iterator, Mapping
from enum import StrEnum

from pydantic import ValidationError

from ledger.approval import Approval
from ledger.assign import assign_execution
from ledger.authorise import bound_from_request
from ledger.checkpoint import Checkpoint
from ledger.consequence import confirmed_operations, consequences_of, what_changed
from ledger.draft import Draft
from ledger.effect import Effect
from ledger.errors import InvariantBroken
from ledger.event import Actor, EventKind
from ledger.ports import Ports
from ledger.record import Record
from ledger.run import RunLedger
from ledger.update import update
from ledger.versions import Versions, WayOn
from ledger.workflow import LEDGER, Operation, WorkflowDefinition

# The stacks of one deploy come one after another, and the API may be there before the version that
# it opens runs on. Half an hour is several deploys; what is missing then is a failed one.
DEPLOY_SECONDS = 30 * 60


class Move(Record):
    """What a migration would do to one run, found out from its ledger and two definitions."""

    carried: dict[str, Checkpoint]
    """Proven checkpoints by their name in the new version."""

    left: dict[str, str]
    """Proven checkpoints that prove nothing in the new version, by their old name, and why."""

    approval: Approval | None
    """The newest approval as it is carried over."""

    obstacles: tuple[str, ...]
    """Why the run cannot be moved by machine; empty when it can."""

    asks_again: str
    """How the consequence differs from what was approved; empty when it does not."""


class Moved(StrEnum):
    """What became of a run whose version is not deployed."""

    MIGRATED = "migrated"
    SETTLE_FIRST = "settle_first"  # an effect is unsettled: it is looked up before anything else
    LEFT = "left"  # the sweeper comes back to it, which knows the versions, or once it is there
    REVIEW = "review"


def plan_move(
    ledger: RunLedger,
    old: WorkflowDefinition | None,
    new: WorkflowDefinition,
    names: Mapping[str, str | None],
) -> Move:
    """Return what going on as ``new`` would do to the run, its own version being one as well.

    ``old`` is None when the version that the run is bound to is no longer registered. ``names``
    are what checkpoints become, as ``Migration.checkpoints``.
    """
    carried: dict[str, Checkpoint] = {}
    left: dict[str, str] = {}
    for checkpoint in ledger.checkpoints:
        if ledger.proven(checkpoint.name) is None:
            continue
        name = names.get(checkpoint.name, checkpoint.name)
        why = _not_met(checkpoint, name, new)
        if name is None or why:
            left[checkpoint.name] = why
        else:
            carried[name] = checkpoint
    newest = ledger.newest_approval()
    approval = _carried_approval(newest, old, names) if newest else None
    return Move(
        carried=carried,
        left=left,
        approval=approval,
        obstacles=tuple(_obstacles(ledger, new, names, set(carried), left)),
        asks_again=what_changed(new, ledger, approval) if approval else "",
    )


def _carried_approval(
    approval: Approval, old: WorkflowDefinition | None, names: Mapping[str, str | None]
) -> Approval:
    """Return the approval as it was given: nothing that it covers is added or taken away."""
    updates: dict[str, object] = {}
    name = names.get(approval.checkpoint)
    if name is not None:
        updates["checkpoint"] = name
    if not approval.consequences and old is not None and approval.workflow == old.version:
        # Stored before consequences were kept; the version that asked is frozen, and says.
        now = consequences_of(old)
        updates["consequences"] = {name: now[name] for name in approval.payload if name in now}
    return approval.model_copy(update=updates)


def _not_met(checkpoint: Checkpoint, name: str | None, new: WorkflowDefinition) -> str:
    """Return why the checkpoint proves nothing in ``new``; empty when it does."""
    contract = next((found for found in new.contracts if found.checkpoint == name), None)
    if name is None or contract is None:
        return f"{new.version} has no such claim"
    try:
        checkpoint.model_copy(update={"name": name}).check(contract)
    except InvariantBroken as broken:
        return str(broken)
    return ""


def _obstacles(
    ledger: RunLedger,
    new: WorkflowDefinition,
    names: Mapping[str, str | None],
    carried: set[str],
    left: dict[str, str],
) -> Iterator[str]:
    try:
        new.request_type.model_validate(ledger.run.request)
    except ValidationError as error:
        yield f"the request on record is none of {new.version} ({error.error_count()} fields)"
        return
    for effect in ledger.effects:
        yield from _effect_obstacles(ledger, new, names, effect)
    for name, why in left.items():
        proof = ledger.proven(name)
        if proof is not None and proof.effect_id is not None:
            yield f"{name} is done, and its proof does not hold in {new.version}: {why}"
    yield from _too_late(ledger, new, carried)


def _effect_obstacles(
    ledger: RunLedger,
    new: WorkflowDefinition,
    names: Mapping[str, str | None],
    effect: Effect,
) -> Iterator[str]:
    operation = next((found for found in new.operations if found.name == effect.operation), None)
    if operation is None:
        yield f"{effect.operation} is on record, and {new.version} has no such write"
        return
    if operation.provider != effect.provider:
        yield (
            f"{effect.operation} is on record at {effect.provider}, and {new.version} makes it at "
            f"{operation.provider}"
        )
    proves = names.get(effect.checkpoint, effect.checkpoint)
    if proves != operation.checkpoint:
        yield f"{effect.operation} proves {proves}, and in {new.version} {operation.checkpoint}"
    if _binds_otherwise(ledger, operation, effect):
        yield f"{effect.operation} is on record with other fields than {new.version} binds"


def _binds_otherwise(ledger: RunLedger, operation: Operation, effect: Effect) -> bool:
    fixed = bound_from_request(operation, ledger.run.request)
    quoted = {name for name, _, _ in operation.evidence_fields}
    same_names = set(effect.bound) == {*fixed, *quoted}
    return not same_names or any(effect.bound[name] != value for name, value in fixed.items())


def _too_late(ledger: RunLedger, new: WorkflowDefinition, carried: set[str]) -> Iterator[str]:
    """Yield what would be looked at again after the write that was to rest on it.

    A target is no longer as it was, because we have written to it.
    """
    done = confirmed_operations(ledger) & {found.name for found in new.operations}
    for stage in new.stages:
        if stage.checkpoint in carried or stage.operation is not None:
            continue
        resting = sorted(name for name in done if stage.checkpoint in new.operation(name).requires)
        # Asking a person once more harms nobody.
        if resting and new.contract(stage.checkpoint).owner != LEDGER:
            yield (
                f"{stage.checkpoint} is not proven as {new.version} asks, and "
                f"{', '.join(resting)}, which rests on it, is done"
            )


def carry_over(draft: Draft, way: WayOn) -> None:
    """Bind the run to the version that ``way`` leads to, with everything that still holds.

    Raises InvariantBroken when something stands in the way.
    """
    new, migration = way.new, way.migration
    move = plan_move(draft.ledger, way.old, new, migration.checkpoints)
    if move.obstacles:
        raise InvariantBroken(f"A run with obstacles cannot be moved: {move.obstacles}")
    run = draft.ledger.run
    draft.set_run(
        workflow=new.version,
        progress_deadline_seconds=new.progress_deadline_seconds,
        # As many as a run of that version may use, from here on.
        max_executions=run.epoch + new.max_executions,
    )
    draft.note(
        EventKind.RUN_MIGRATED,
        migration.reason,
        subject=new.version,
        prior=run.workflow,
        state=new.version,
        details={
            "from_version": run.workflow,
            "to_version": new.version,
            "carried": ", ".join(sorted(move.carried)),
            "not_carried": "; ".join(f"{name}: {why}" for name, why in sorted(move.left.items())),
            "asks_again": move.asks_again,
        },
    )
    _carry_checkpoints(draft, new, move, run.workflow)
    _carry_effects(draft, new, migration.checkpoints)
    if move.approval is not None:
        draft.put_approval(move.approval)


def _carry_checkpoints(draft: Draft, new: WorkflowDefinition, move: Move, old_version: str) -> None:
    for known in draft.ledger.checkpoints:
        # Whatever is not carried under its name must not be taken for a claim of the new version.
        if known.name not in move.carried and not known.withdrawn:
            draft.withdraw(known, f"no proof of {new.version} under this name")
    for name, checkpoint in move.carried.items():
        if name != checkpoint.name:
            renamed = {"name": name, "reached_at_ms": draft.now_ms}
            reason = f"carried from {checkpoint.name} of {old_version}"
            draft.reach(checkpoint.model_copy(update=renamed), reason)


def _carry_effects(draft: Draft, new: WorkflowDefinition, names: Mapping[str, str | None]) -> None:
    for effect in draft.ledger.effects:
        name = names.get(effect.checkpoint, effect.checkpoint)
        if name is None:
            continue
        proof_fields = new.contract(name).evidence_fields
        carried = effect.model_copy(update={"checkpoint": name, "proof_fields": proof_fields})
        if carried != effect:
            draft.put_effect(carried)


def _comes_with_this_deploy(draft: Draft, versions: Versions) -> bool:
    """Return whether the run was opened on a version that is registered and not there yet."""
    run = draft.ledger.run
    age_ms = draft.now_ms - run.opened_at_ms
    registered = versions.definition(run.workflow) is not None
    return registered and age_ms < DEPLOY_SECONDS * 1000


def migrate(ports: Ports, run_id: str, from_version: str, actor: Actor) -> Moved:
    """Return what became of a run whose version is not deployed: moved, waiting, or in review.

    One transaction, which also assigns a new execution: whatever the older one still does is
    refused. A run that is no longer of ``from_version`` was moved by somebody else meanwhile.
    """
    versions = ports.versions
    if versions is None:
        return Moved.LEFT
    moved = Moved.MIGRATED

    def decide(draft: Draft) -> None:
        nonlocal moved
        moved = Moved.MIGRATED
        ledger = draft.ledger
        if ledger.run.workflow != from_version:
            return
        way = versions.way_on(from_version)
        if way is None and _comes_with_this_deploy(draft, versions):
            moved = Moved.LEFT
            return
        if way is None:
            moved = Moved.REVIEW
            draft.send_to_review(f"no compatible version: {from_version} is not deployed")
            return
        if ledger.unsettled_effects():
            moved = Moved.SETTLE_FIRST
            return
        obstacles = plan_move(ledger, way.old, way.new, way.migration.checkpoints).obstacles
        if obstacles:
            moved = Moved.REVIEW
            draft.send_to_review(
                f"no compatible version: {from_version} is not deployed, and the run cannot be "
                f"moved to {way.new.version}: {'; '.join(obstacles)}"
            )
            return
        carry_over(draft, way)
        assign_execution(draft, f"{from_version} is not deployed; it goes on as {way.new.version}")

    update(ports, run_id, actor, decide)
    return moved
