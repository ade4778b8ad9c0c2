"""A provider that holds the records it made and does what its script says."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from ledger.contract import (
    ProviderContract,
)
from ledger.provider import (
    Authority,
    Findings,
    Intent,
    ProviderCall,
    ProviderFault,
    ProviderRecord,
    RecordStatus,
)
from ledger.record import Scalar


@dataclass
class Step:
    """What the provider does with one call: keep a record, lose the answer, or both."""

    status: RecordStatus | None = RecordStatus.DONE
    fault: ProviderFault | None = None
    fields: dict[str, Scalar] = field(default_factory=dict)
    """Fields in which the record differs from what was asked."""


@dataclass
class ScriptedProvider:
    """A provider that holds the records it made and does what its script says, then behaves."""

    contract: ProviderContract
    script: list[Step] = field(default_factory=list)
    held: list[ProviderRecord] = field(default_factory=list)
    calls: list[ProviderCall] = field(default_factory=list)
    look_ups: int = 0
    authority_reads: int = 0
    every_page: bool = True
    concerns: tuple[str, ...] = ()
    read_fault: ProviderFault | None = None
    authority_fault: ProviderFault | None = None
    allowed: Authority = field(
        default_factory=lambda: Authority(allowed=True, reason="", snapshot={"refundable": 10000})
    )
    during_authority: Callable[[], None] | None = None
    during_call: Callable[[], None] | None = None
    during_look_up: Callable[[], None] | None = None
    consequence_changes: dict[str, Scalar] = field(default_factory=dict)
    composed_extras: dict[str, object] = field(default_factory=dict)

    def compose(self, intent: Intent) -> dict[str, object]:
        """Return parameters that carry the mark."""
        return {
            "fields": dict(intent.bound),
            "mark": intent.effect_id,
            **self.composed_extras,
        }

    def consequence(self, params: Mapping[str, object]) -> dict[str, Scalar]:
        """Return the fields that the parameters would write."""
        fields = params["fields"]
        assert isinstance(fields, dict)
        return {**fields, **self.consequence_changes}

    def authority(self, bound: Mapping[str, Scalar], personal: Mapping[str, str]) -> Authority:
        """Return what the target's owner says."""
        del bound, personal
        self.authority_reads += 1
        if self.authority_fault is not None:
            raise self.authority_fault
        if self.during_authority is not None:
            self.during_authority()
        return self.allowed

    def call(self, call: ProviderCall) -> ProviderRecord:
        """Make the write as the script says."""
        self.calls.append(call)
        step = self.script.pop(0) if self.script else Step()
        made: ProviderRecord | None = None
        if step.status is not None:
            made = self.record(call, step.status, step.fields)
            self.held.append(made)
        if self.during_call is not None:
            self.during_call()
        if step.fault is not None:
            raise step.fault
        assert made is not None
        return made

    def record(
        self, call: ProviderCall, status: RecordStatus, fields: Mapping[str, Scalar]
    ) -> ProviderRecord:
        """Return the record that a call makes."""
        return ProviderRecord(
            record_id=f"{self.contract.provider}_{len(self.calls)}",
            status=status,
            provider_status=status.value,
            mark=call.effect_id,
            fields={**call.bound, **fields},
        )

    def look_up(self, call: ProviderCall) -> Findings:
        """Return what is held, as it was when the read began."""
        del call
        self.look_ups += 1
        if self.read_fault is not None:
            raise self.read_fault
        seen = Findings(records=tuple(self.held), complete=self.every_page, concerns=self.concerns)
        if self.during_look_up is not None:
            self.during_look_up()
        return seen
