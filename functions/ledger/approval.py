"""An approval: one person's yes to one exact payload, spent once per operation."""

from collections.abc import Mapping
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
    """The version that asked. What a yes covers is told by ``consequences``, not by this name."""

    checkpoint: str
    """The checkpoint that a yes proves."""

    payload: dict[str, dict[str, Scalar]]
    """Operation name to the bound fields shown to the person."""

    consequences: dict[str, str] = Field(default_factory=dict)
    """Operation name to the digest of what it does. Empty when it was stored before this was kept:
    then it is what the version does that asked."""

    digest: str
    requested_at_ms: int
    expires_at_ms: int
    state: ApprovalState = ApprovalState.PENDING
    decided_by: str | None = None
    decided_at_ms: int | None = None
    spent_on: dict[str, str] = Field(default_factory=dict)
    """Operation name to the effect id that used it."""

    compensates: str | None = None
    """Id of the effect that a yes takes back; None when the run's own writes are asked for."""

    withdrawn: bool = False
    """Whether it covers nothing any more: its run went to review before it was used."""

    task_token: str | None = None
    """A doorbell for the execution that waits; losing it loses nothing."""

    @staticmethod
    def payload_digest(
        payload: dict[str, dict[str, Scalar]], consequences: Mapping[str, str]
    ) -> str:
        """Return the digest a person's yes is bound to: the payload and what its writes do."""
        return digest({"payload": payload, "consequences": dict(consequences)})

    @staticmethod
    def version_digest(workflow: str, payload: dict[str, dict[str, Scalar]]) -> str:
        """Return the digest of approvals stored before consequences were kept with them."""
        return digest({"workflow": workflow, "payload": payload})

    @property
    def is_intact(self) -> bool:
        """Return whether the payload is the one that was shown, in either form of the digest."""
        return self.digest in (
            self.payload_digest(self.payload, self.consequences),
            self.version_digest(self.workflow, self.payload),
        )

    def expired(self, now_ms: int) -> bool:
        """Return whether the lifetime is over. Compared in code: stores delete late."""
        return now_ms >= self.expires_at_ms

    def refusal(
        self, operation: str, bound: dict[str, Scalar], effect_id: str, now_ms: int
    ) -> str | None:
        """Return why this approval does not cover the write, None when it does.

        Whether the write is still what it was when it was approved is another question
        (``ledger.consequence``).
        """
        if self.state is not ApprovalState.APPROVED:
            return f"the approval is {self.state}"
        if self.withdrawn:
            return "the approval ended with a review"
        if self.expired(now_ms):
            return "the approval has expired"
        if not self.is_intact:
            return "the approval was given for another payload"
        approved = self.payload.get(operation)
        if approved is None or digest(approved) != digest(bound):
            return "what would be sent differs from what was approved"
        if self.spent_on.get(operation, effect_id) != effect_id:
            return "the approval was already spent on another effect"
        return None
