"""An approval: one person's yes to one exact payload, spent once per operation."""

from enum import StrEnum

from pydantic import Field

from ledger.canonical import digest
from ledger.record import Scalar, StoredRecord


class ApprovalState(StrEnum):
    """What has been decided."""

    PENDING = "pending"
    APPROVED = "approved"
    DECLINED = "declined"


class Approval(StoredRecord):
    """What was shown, what was decided, by whom, until when, and what it was spent on."""

    approval_id: str
    workflow: str
    checkpoint: str
    """The checkpoint that a yes proves."""

    payload: dict[str, dict[str, Scalar]]
    """Operation name to the bound fields shown to the person."""

    digest: str
    requested_at_ms: int
    expires_at_ms: int
    state: ApprovalState = ApprovalState.PENDING
    decided_by: str | None = None
    decided_at_ms: int | None = None
    spent_on: dict[str, str] = Field(default_factory=dict)
    """Operation name to the effect id that used it."""

    task_token: str | None = None
    """A doorbell for the execution that waits; losing it loses nothing."""

    @staticmethod
    def payload_digest(workflow: str, payload: dict[str, dict[str, Scalar]]) -> str:
        """Return the digest a person's yes is bound to: the payload and the version that acts."""
        return digest({"workflow": workflow, "payload": payload})

    def expired(self, now_ms: int) -> bool:
        """Return whether the lifetime is over. Compared in code: stores delete late."""
        return now_ms >= self.expires_at_ms

    def refusal(
        self, operation: str, bound: dict[str, Scalar], effect_id: str, workflow: str, now_ms: int
    ) -> str | None:
        """Return why this approval does not cover the write, None when it does."""
        if self.state is not ApprovalState.APPROVED:
            return f"the approval is {self.state}"
        if self.expired(now_ms):
            return "the approval has expired"
        if self.workflow != workflow or self.digest != self.payload_digest(workflow, self.payload):
            return "the approval was given for another workflow version or payload"
        approved = self.payload.get(operation)
        if approved is None or digest(approved) != digest(bound):
            return "what would be sent differs from what was approved"
        if self.spent_on.get(operation, effect_id) != effect_id:
            return "the approval was already spent on another effect"
        return None
