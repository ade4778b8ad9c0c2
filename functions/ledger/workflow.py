"""A workflow version as data: its stages, its operations and what each checkpoint claims."""

from pydantic import Field, model_validator

from ledger.canonical import digest
from ledger.checkpoint import CompletionContract
from ledger.record import Record, Scalar


class Operation(Record):
    """One kind of outside write in a workflow version."""

    name: str
    label: str
    """What people call the write, for example ``Refund``."""

    provider: str
    checkpoint: str
    request_fields: tuple[str, ...]
    """Bound fields taken from the run's request. Changing any of them asks for a new approval."""

    fixed: dict[str, Scalar] = Field(default_factory=dict)
    """Bound fields that the version itself decides."""

    evidence_fields: tuple[tuple[str, str, str], ...] = ()
    """Bound fields read from evidence: (bound field, checkpoint, evidence field)."""

    requires: tuple[str, ...] = ()
    """Checkpoints that must be reached before the write may begin."""

    needs_approval: bool = True
    moves_money: bool = False


class Stage(Record):
    """One Lambda step and the checkpoint that it establishes."""

    name: str
    checkpoint: str
    timeout_seconds: int
    operation: str | None = None
    providers: tuple[str, ...] = ()
    """Providers that the stage reads or writes; its permissions follow from their contracts."""

    rings_doorbell: bool = False
    """Whether the stage may have to wake its own execution."""

    @property
    def state_name(self) -> str:
        """Return the name of the stage's state in the state machine."""
        return "".join(word.capitalize() for word in self.name.split("_"))


class WorkflowDefinition(Record):
    """One released version of one workflow."""

    name: str
    number: int = Field(gt=0)
    summary: str
    request_type: type[Record]
    """The typed request that opens a run. Opaque ids and amounts only, nothing personal."""

    stages: tuple[Stage, ...]
    operations: tuple[Operation, ...]
    contracts: tuple[CompletionContract, ...]
    approval_lifetime_seconds: int
    progress_deadline_seconds: int
    """How long a run may show no change before the sweeper looks after it."""

    max_executions: int
    """How many executions a run may be given before a person has to look."""

    @property
    def version(self) -> str:
        """Return the name that runs are bound to, for example ``cancel-refund@4``."""
        return f"{self.name}@{self.number}"

    @property
    def slice_package(self) -> str:
        """Return the package that holds the version's handlers."""
        return f"workflows.{self.name.replace('-', '_')}.v{self.number}"

    @property
    def asl_path(self) -> str:
        """Return the path of the version's state machine definition."""
        return f"statemachines/{self.name.replace('-', '_')}/v{self.number}.asl.json"

    @model_validator(mode="after")
    def _approvals_are_decidable(self) -> "WorkflowDefinition":
        for operation in self.operations:
            if operation.needs_approval and operation.evidence_fields:
                raise ValueError(
                    f"{operation.name} asks for approval of fields that are read only later."
                )
        return self

    def operation(self, name: str) -> Operation:
        """Return the operation called ``name``. Raises KeyError."""
        return {found.name: found for found in self.operations}[name]

    def contract(self, checkpoint: str) -> CompletionContract:
        """Return what ``checkpoint`` must prove. Raises KeyError."""
        return {found.checkpoint: found for found in self.contracts}[checkpoint]

    def consequence_digest(self) -> str:
        """Return a digest over what the version does to the outside, not how its text reads."""
        operations = [found.model_dump(mode="json", exclude={"label"}) for found in self.operations]
        return digest({"operations": operations})
