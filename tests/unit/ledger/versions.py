"""Other versions of the sample workflow."""

from typing import Any

from ledger.checkpoint import CompletionContract
from ledger.event import Event, EventKind
from ledger.record import Record
from ledger.versions import Migration, Versions
from ledger.workflow import Operation, Stage, WorkflowDefinition
from tests.unit.ledger.sample import DEFINITION
from tests.unit.ledger.support import World

REFUND, RECEIPT = DEFINITION.operations
FEE = Operation(
    name="fee",
    label="Fee",
    provider="payments",
    checkpoint="fee_taken",
    request_fields=("charge_id",),
    requires=("request_approved",),
)


def renumbered(number: int = 3, definition: WorkflowDefinition = DEFINITION) -> WorkflowDefinition:
    """Return the same under another number."""
    return definition.model_copy(update={"number": number})


def altered(
    part: str, index: int, definition: WorkflowDefinition = DEFINITION, **changes: Any
) -> WorkflowDefinition:
    """Return a definition, unchecked, with one stage, operation or contract changed."""
    parts: list[Record] = list(getattr(definition, part))
    parts[index] = parts[index].model_copy(update=changes)
    return definition.model_copy(update={part: tuple(parts)})


def with_fee(
    definition: WorkflowDefinition = DEFINITION, fee: Operation = FEE
) -> WorkflowDefinition:
    """Return a definition that takes a fee before its last stage."""
    *before, last = definition.stages
    stage = Stage(
        name="take_fee",
        checkpoint=fee.checkpoint,
        timeout_seconds=60,
        operation=fee.name,
        providers=(fee.provider,),
    )
    contract = CompletionContract(
        checkpoint=fee.checkpoint,
        claim="The fee was taken.",
        owner=fee.provider,
        evidence_fields=("charge_id",),
    )
    return WorkflowDefinition.model_validate(
        {
            **dict(definition),
            "stages": (*before, stage, last),
            "operations": (*definition.operations, fee),
            "contracts": (*definition.contracts, contract),
        }
    )


def renamed(old: str, new: str, definition: WorkflowDefinition = DEFINITION) -> WorkflowDefinition:
    """Return a definition in which one checkpoint has another name everywhere."""

    def name(found: str) -> str:
        return new if found == old else found

    return WorkflowDefinition.model_validate(
        {
            **dict(definition),
            "stages": tuple(
                found.model_copy(update={"checkpoint": name(found.checkpoint)})
                for found in definition.stages
            ),
            "operations": tuple(
                found.model_copy(
                    update={
                        "checkpoint": name(found.checkpoint),
                        "requires": tuple(name(required) for required in found.requires),
                        "evidence_fields": tuple(
                            (field, name(checkpoint), quoted)
                            for field, checkpoint, quoted in found.evidence_fields
                        ),
                    }
                )
                for found in definition.operations
            ),
            "contracts": tuple(
                found.model_copy(update={"checkpoint": name(found.checkpoint)})
                for found in definition.contracts
            ),
        }
    )


def a_migration(
    new: WorkflowDefinition, checkpoints: dict[str, str | None] | None = None
) -> Migration:
    """Return a migration from the sample workflow's version to another."""
    return Migration(
        from_version=DEFINITION.version,
        to_version=new.version,
        reason="the new one is better",
        checkpoints=checkpoints or {},
    )


def is_replaced(
    world: World,
    new: WorkflowDefinition,
    checkpoints: dict[str, str | None] | None = None,
    *,
    old_is_known: bool = True,
) -> None:
    """Let ``new`` be deployed in the place of the sample workflow's version, with a migration."""
    known = [DEFINITION, new] if old_is_known else [new]
    world.versions = Versions(
        {found.version: found for found in known}, (a_migration(new, checkpoints),)
    )
    world.executions.machines = {new.version}


def moves(world: World) -> list[Event]:
    """Return the events of the moves that were made."""
    return [found for found in world.events if found.kind is EventKind.RUN_MIGRATED]
