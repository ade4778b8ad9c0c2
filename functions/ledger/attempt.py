"""One try at an effect: who claimed it, under which key generation, and how it ended."""

from enum import StrEnum

from ledger.record import StoredRecord


class AttemptOutcome(StrEnum):
    """How one attempt ended, as far as anything proves it."""

    RUNNING = "running"
    ACCEPTED = "accepted"
    REFUSED = "refused"
    NOT_REACHED = "not_reached"
    UNKNOWN = "unknown"
    FOUND = "found"  # was unknown; a read found its record
    ABSENT = "absent"  # was unknown; complete reads found nothing


class Attempt(StoredRecord):
    """A claim on an effect, written before the call and settled after it."""

    attempt_id: str
    number: int
    generation: int
    epoch: int
    claimed_at_ms: int
    lease_until_ms: int
    """Until then a worker may still be inside the call; nobody else may begin one."""

    outcome: AttemptOutcome = AttemptOutcome.RUNNING
    fault: str = ""
    """Kind, status and code of the fault: typed words only, never a provider's message."""

    @property
    def was_ever_unknown(self) -> bool:
        """Return whether this attempt's own answer was lost, whatever was found out later."""
        return self.outcome in (AttemptOutcome.UNKNOWN, AttemptOutcome.ABSENT)
