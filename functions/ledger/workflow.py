"""A workflow version as data: its stages, its operations and what each checkpoint claims."""

from collections.abc import Iterator

from pydantic import Field, model_validator

from ledger.canonical import digest
from ledger.checkpoint import RECORD_ID, CompletionContract
from ledger.record import Record, Scalar

LEDGER = "ledger"
"""The owner of the one claim that no provider proves: that a person said yes."""

APPROVAL_EVIDENCE = frozenset({"digest", "decided_by"})
"""What an approval leaves as evidence."""


class Compensation(Record):
    """What a counter-effect takes back."""

    operation: str
    """The operation whose effect no longer stands once the counter-effect is confirmed."""

    offer: str
    """What an operator offers, for example ``switch the renewal on again``."""


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
    compensates: Compensation | None = None
    """Set for a counter-effect. No stage performs it: a person offers it, and the customer decides
    about it alone."""

    @property
    def rests_on(self) -> frozenset[str]:
        """Return the checkpoints that have to hold at the moment of the write."""
        return frozenset({*self.requires, *(name for _, name, _ in self.evidence_fields)})


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
    def write(self) -> str:
        """Return the operation that the stage performs. Raises KeyError when it performs none."""
        if self.operation is None:
            raise KeyError(f"{self.name} performs no operation")
        return self.operation

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

    retired: bool = False
    """Whether the version is no longer deployed: its runs can be seen and closed, not continued."""

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
    def _holds_together(self) -> "WorkflowDefinition":
        """Refuse a definition that a run could never finish. Found here, not in mid-run."""
        wrong = [
            *self._wrong_names(),
            *self._wrong_request(),
            *self._wrong_stages(),
            *self._wrong_asking(),
            *self._wrong_operations(),
            *self._wrong_proofs(),
        ]
        if wrong:
            raise ValueError("; ".join(wrong))
        return self

    def _wrong_names(self) -> Iterator[str]:
        named = {
            "stages are called": [found.name for found in self.stages],
            "stages reach": [found.checkpoint for found in self.stages],
            "operations are called": [found.name for found in self.operations],
        }
        for what, names in named.items():
            for name in sorted({found for found in names if names.count(found) > 1}):
                yield f"several {what} {name}"

    def _wrong_request(self) -> Iterator[str]:
        fields = set(self.request_type.model_fields)
        if "customer_id" not in fields:
            yield "the request names no customer_id"
        for operation in self.operations:
            for name in set(operation.request_fields) - fields:
                yield f"{operation.name} takes {name}, which the request does not have"

    def _wrong_stages(self) -> Iterator[str]:
        operations = {found.name: found for found in self.operations}
        for stage in self.stages:
            if [found.checkpoint for found in self.contracts].count(stage.checkpoint) != 1:
                yield f"{stage.checkpoint} needs one completion contract"
            if stage.operation is None:
                yield from self._wrong_confirming(stage)
                continue
            operation = operations.get(stage.operation)
            if operation is None:
                yield f"{stage.name} performs {stage.operation}, which there is not"
            elif operation.checkpoint != stage.checkpoint:
                yield f"{stage.name} and {operation.name} reach different checkpoints"
            elif operation.provider not in stage.providers:
                yield f"{stage.name} is not given {operation.provider}"

    def _wrong_confirming(self, stage: Stage) -> Iterator[str]:
        """Yield what a stage that confirms the targets cannot read."""
        owners = {found.provider for found in self.approved_operations}
        for provider in sorted(owners - set(stage.providers)) if not stage.rings_doorbell else ():
            yield f"{stage.name} is not given {provider}, which says whether the request is allowed"

    def _wrong_asking(self) -> Iterator[str]:
        """Yield what is wrong with how a person is asked. Of a retired version it is not known."""
        if self.retired:
            return
        owners = {found.checkpoint: found for found in self.contracts}
        asked_in_time = False
        for stage in self.stages:
            contract = owners.get(stage.checkpoint)
            by_ledger = contract is not None and contract.owner == LEDGER
            if stage.rings_doorbell and (stage.operation or not by_ledger):
                yield f"{stage.name} waits for a person, whose yes the ledger proves and no write"
            if by_ledger and not stage.rings_doorbell:
                yield f"{stage.name} asks a person, and wakes no execution"
            if by_ledger and contract and set(contract.evidence_fields) - APPROVAL_EVIDENCE:
                yield f"{stage.checkpoint} asks for more than an approval leaves as evidence"
            asked_in_time = asked_in_time or stage.rings_doorbell
            if stage.operation in self._undecided and not asked_in_time:
                yield f"{stage.operation} needs a yes, and no earlier stage asks for one"

    @property
    def _undecided(self) -> frozenset[str]:
        return frozenset(found.name for found in self.operations if found.needs_approval)

    def _wrong_operations(self) -> Iterator[str]:
        order = [stage.checkpoint for stage in self.stages]
        performed = {stage.operation for stage in self.stages}
        for operation in self.operations:
            if operation.compensates is not None:
                yield from self._wrong_counter(operation, operation.compensates.operation)
                continue
            if operation.checkpoint not in order:
                yield f"no stage reaches {operation.checkpoint}"
                continue
            if operation.name not in performed:
                yield f"no stage performs {operation.name}"
            earlier = order[: order.index(operation.checkpoint)]
            quoted = {checkpoint for _, checkpoint, _ in operation.evidence_fields}
            for name in {*operation.requires, *quoted} - set(earlier):
                yield f"{operation.name} needs {name}, which no earlier stage reaches"
            if operation.needs_approval and operation.evidence_fields:
                yield f"{operation.name} asks for approval of fields that are read only later"

    def _wrong_proofs(self) -> Iterator[str]:
        """Yield what no evidence could prove, and what is quoted that evidence need not show."""
        contracts = {found.checkpoint: found for found in self.contracts}
        for operation in self.operations:
            contract = contracts.get(operation.checkpoint)
            if contract is not None and contract.owner != operation.provider:
                yield f"{operation.name} is made at {operation.provider}, not at {contract.owner}"
            for _, checkpoint, field in operation.evidence_fields:
                quoted = contracts.get(checkpoint)
                if quoted and field not in (RECORD_ID, *quoted.evidence_fields):
                    yield f"{operation.name} quotes {field}, which {checkpoint} need not show"

    def _wrong_counter(self, counter: Operation, compensated: str) -> Iterator[str]:
        order = [stage.checkpoint for stage in self.stages]
        performed = {stage.operation for stage in self.stages}
        claims = [found.checkpoint for found in self.contracts]
        if compensated not in performed:
            yield f"{counter.name} takes back {compensated}, which no stage performs"
        if counter.name in performed or counter.checkpoint in order:
            yield f"{counter.name} is a counter-effect and part of the normal way"
        if claims.count(counter.checkpoint) != 1:
            yield f"{counter.checkpoint} needs one completion contract"
        if not counter.needs_approval or counter.evidence_fields:
            yield f"{counter.name} takes something back without a yes to exactly that"
        for name in set(counter.requires) - set(order):
            yield f"{counter.name} needs {name}, which no stage reaches"

    @property
    def counter_operations(self) -> tuple[Operation, ...]:
        """Return the writes that take another one back."""
        return tuple(found for found in self.operations if found.compensates is not None)

    @property
    def own_operations(self) -> tuple[Operation, ...]:
        """Return the writes of the normal way."""
        return tuple(found for found in self.operations if found.compensates is None)

    @property
    def approved_operations(self) -> tuple[Operation, ...]:
        """Return the writes that a person has to approve: those that some stage performs."""
        performed = {stage.operation for stage in self.stages}
        return tuple(
            found for found in self.operations if found.needs_approval and found.name in performed
        )

    def read_again_in(self, stage: Stage) -> tuple[str, ...]:
        """Return the providers of what the write of ``stage`` rests on: read again before it."""
        rests_on = self.operation(stage.write).rests_on if stage.operation else frozenset()
        return tuple(
            sorted({found.provider for found in self.operations if found.checkpoint in rests_on})
        )

    def stage(self, name: str) -> Stage:
        """Return the stage called ``name``. Raises KeyError."""
        return {found.name: found for found in self.stages}[name]

    def operation(self, name: str) -> Operation:
        """Return the operation called ``name``. Raises KeyError."""
        return {found.name: found for found in self.operations}[name]

    def contract(self, checkpoint: str) -> CompletionContract:
        """Return what ``checkpoint`` must prove. Raises KeyError."""
        return {found.checkpoint: found for found in self.contracts}[checkpoint]

    def consequence_digest(self) -> str:
        """Return a digest over everything that the version does, whatever words it uses for it."""
        frozen = self.model_dump(mode="json", exclude={"summary", "request_type", "retired"})
        for operation in frozen["operations"]:
            del operation["label"]
            if operation["compensates"] is None:  # as the field's absence, in older releases
                del operation["compensates"]
        for contract in frozen["contracts"]:
            del contract["claim"]
        return digest({"definition": frozen, "request": self.request_type.model_json_schema()})
