"""A checkpoint: a past-tense claim with the evidence that proves it."""

from ledger.effect import Evidence
from ledger.errors import InvariantBroken
from ledger.record import Record, Scalar, StoredRecord

RECORD_ID = "record_id"
"""What is quoted of any evidence by this name: the id of the provider's record."""


class CompletionContract(Record):
    """What must be true before a checkpoint may be written, and who says so."""

    checkpoint: str
    claim: str
    owner: str
    """The system whose record proves the claim."""

    evidence_fields: tuple[str, ...]


class Checkpoint(StoredRecord):
    """A claim that was tested, with what was read."""

    name: str
    evidence: Evidence
    reached_at_ms: int
    effect_id: str | None = None
    withdrawn: bool = False
    """Whether it proves nothing any more: the run was moved to a version that asks for more."""

    def value(self, field: str) -> Scalar:
        """Return a field of the evidence, its ``RECORD_ID`` among them. Raises KeyError."""
        return self.evidence.record_id if field == RECORD_ID else self.evidence.fields[field]

    def check(self, contract: CompletionContract) -> None:
        """Raise InvariantBroken unless the evidence meets ``contract``."""
        missing = [name for name in contract.evidence_fields if name not in self.evidence.fields]
        if self.name != contract.checkpoint or self.evidence.source != contract.owner or missing:
            raise InvariantBroken(
                f"Evidence for {self.name} does not meet its contract (missing: {missing})."
            )
