"""An effect: one intended outside write, its key, its frozen request and what is proven of it."""

import json
from typing import cast

from ledger.attempt import Attempt
from ledger.canonical import canonical_bytes, digest
from ledger.contract import KEY_NOTICE_SECONDS
from ledger.errors import ReviewRequired
from ledger.provider import ProviderRecord
from ledger.record import Scalar, StoredRecord
from ledger.transitions import UNSETTLED_EFFECT_STATES, EffectState

# DynamoDB refuses items over 400 KB; a request that size is a mistake, not a refund.
MAX_REQUEST_BYTES = 64 * 1024
# No worker outlives an invocation, and AWS Lambda ends one after 15 minutes (docs.aws.amazon.com,
# Lambda quotas): no lease that was written by a clock like ours is longer.
LONGEST_LEASE_SECONDS = 900
# Machines that keep time differ by far less, and one whose clock is ahead by as much is believed.
CLOCK_SKEW_SECONDS = 60
# The record id of a write that no provider can show and that a person vouches for. By whom is in
# the event, and no business of the customer.
ATTESTED = "attested"


class Evidence(StoredRecord):
    """What was read from the system that owns the record, and when."""

    source: str
    record_id: str
    provider_status: str
    fields: dict[str, Scalar]
    read_at_ms: int


class FrozenRequest(StoredRecord):
    """The exact parameters of a write, fixed before the first attempt and replayed unchanged."""

    body: str
    digest: str

    @classmethod
    def create(cls, params: dict[str, object]) -> "FrozenRequest":
        """Return ``params`` in canonical form with their digest."""
        return cls(body=canonical_bytes(params).decode(), digest=digest(params))

    def stored_params(self) -> dict[str, object]:
        """Return the parameters for reading, which an altered byte cannot turn into a write."""
        return cast("dict[str, object]", json.loads(self.body))

    def params(self) -> dict[str, object]:
        """Return the parameters. Raises ReviewRequired when the stored bytes were altered."""
        decoded = self.stored_params()
        if digest(decoded) != self.digest:
            raise ReviewRequired("The frozen request no longer matches its digest; do not send it.")
        return decoded


class LateResult(StoredRecord):
    """What a worker learned after it had lost its claim."""

    attempt_id: str
    record: ProviderRecord
    learned_at_ms: int


class Effect(StoredRecord):
    """One intended outside write of a run."""

    effect_id: str
    operation: str
    provider: str
    instance: int
    """Which intended occurrence within the run: two honest equal refunds differ here."""

    state: EffectState
    bound: dict[str, Scalar]
    request: FrozenRequest
    idempotency_key: str
    generation: int
    """Counts keys. A key past the provider's lifetime protects nothing and is never reused."""

    checkpoint: str
    """The checkpoint that this effect, once confirmed, proves."""

    proof_fields: tuple[str, ...] = ()
    """What the record has to show before it proves the checkpoint, as the version asked when the
    write was intended."""

    approval_id: str | None
    recovery_deadline_seconds: int
    pending_deadline_seconds: int
    attempts: tuple[Attempt, ...] = ()
    key_first_used_at_ms: int | None = None
    key_protects_until_ms: int | None = None
    key_notice_seconds: int = KEY_NOTICE_SECONDS
    key_notice_generation: int = 0
    """The generation of the key about whose end a person was told last, 0 before the first."""

    unsettled_since_ms: int | None = None
    """Since when the provider has owed an answer (unknown) or an end (accepted)."""

    absence_reads_at_ms: tuple[int, ...] = ()
    """When reads that found nothing ended; each began a settle window after the one before."""

    attempts_forgiven: int = 0
    """How many attempts no longer count: a person has looked since and let the run go on."""

    compensates: str | None = None
    """Id of the effect that this one, once confirmed, has taken back; None when it takes none."""

    superseded: bool = False
    """Whether a person has allowed another instance in its place."""

    reconcile_reads: int = 0
    """How many reads in a row settled nothing; each makes the wait for the next one longer."""

    rechecks_after_seconds: tuple[int, ...] = ()
    rechecks_made: int = 0
    """How many of the reads that follow a confirmation were made."""

    recheck_not_before_ms: int = 0
    """Until then such a read is not made, because the last one could not be."""

    overdue: bool = False
    evidence: Evidence | None = None
    candidates: tuple[Evidence, ...] = ()
    """Records that may or may not be ours, or that stand in the way, for the person who reviews."""

    remarks: tuple[str, ...] = ()
    """What else was seen at the target, each said once: writes of others, a dispute."""

    late_results: tuple[LateResult, ...] = ()

    @property
    def last_attempt(self) -> Attempt | None:
        """Return the newest attempt, None before the first claim."""
        return self.attempts[-1] if self.attempts else None

    @property
    def counted_attempts(self) -> tuple[Attempt, ...]:
        """Return the attempts made since a person last looked."""
        return self.attempts[self.attempts_forgiven :]

    @property
    def unproven_fields(self) -> tuple[str, ...]:
        """Return what the evidence would have to show besides before it proved the checkpoint."""
        shown = self.evidence.fields if self.evidence else {}
        return tuple(name for name in self.proof_fields if name not in shown)

    @property
    def unsettled(self) -> bool:
        """Return whether the provider has to be read before anything else happens."""
        return self.state in UNSETTLED_EFFECT_STATES

    def claim_is_live(self, now_ms: int) -> bool:
        """Return whether a worker may still be inside a call.

        A lease that ends later than any can was written by a clock that is hours ahead. It would
        hide for all that time that its worker is not coming back.
        """
        if self.last_attempt is None:
            return False
        left_ms = self.last_attempt.lease_until_ms - now_ms
        return 0 < left_ms <= (LONGEST_LEASE_SECONDS + CLOCK_SKEW_SECONDS) * 1000

    def overdue_at_ms(self) -> int | None:
        """Return when somebody has to be told, None while nothing is owed."""
        if self.unsettled_since_ms is None:
            return None
        if self.state is EffectState.ACCEPTED:
            return self.unsettled_since_ms + self.pending_deadline_seconds * 1000
        deadline_ms = self.unsettled_since_ms + self.recovery_deadline_seconds * 1000
        notice_ms = self.key_notice_at_ms()
        return deadline_ms if notice_ms is None else min(deadline_ms, notice_ms)

    def key_notice_at_ms(self) -> int | None:
        """Return when a person has to know that the key will soon protect nothing, None without."""
        if self.key_protects_until_ms is None:
            return None
        return self.key_protects_until_ms - self.key_notice_seconds * 1000

    def key_notice_owed_at_ms(self) -> int | None:
        """Return when a person is to be told so, None once they were, and when it is no matter.

        A record that the provider shows needs no key any more. What is only planned is claimed
        under a key that will live, and one that is being attempted is unknown first.
        """
        told = self.key_notice_generation == self.generation
        owed = self.state is EffectState.UNKNOWN and not told
        return self.key_notice_at_ms() if owed else None

    def recheck_at_ms(self) -> int | None:
        """Return when the owner of a confirmed record is to be asked again, None when no more."""
        if self.state is not EffectState.CONFIRMED or self.evidence is None:
            return None
        if self.rechecks_made >= len(self.rechecks_after_seconds):
            return None
        after_seconds = self.rechecks_after_seconds[self.rechecks_made]
        return max(self.evidence.read_at_ms + after_seconds * 1000, self.recheck_not_before_ms)
