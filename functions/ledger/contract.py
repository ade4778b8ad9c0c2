"""A provider's contract as data: what the engine may conclude from what a provider says.

Each provider module declares one ``ProviderContract`` beside its adapter. The engine derives from
it what is permitted; no stage decides on its own.
"""

from enum import StrEnum

from pydantic import Field

from ledger.record import Record


class FaultKind(StrEnum):
    """What an adapter saw when a call did not return a record."""

    NEVER_SENT = "never_sent"  # DNS, connection refused, TLS or connect timeout
    NO_ANSWER = "no_answer"  # read timeout, connection reset after the request was written
    ANSWERED = "answered"  # an HTTP status, with the provider's own code where it gave one
    UNREADABLE = "unreadable"  # an answer that could not be parsed, an empty 200, a redirect


class ErrorClass(StrEnum):
    """What a fault means for the attempt that met it, and for no other attempt."""

    NOT_REACHED = "not_reached"  # not done: the provider never saw it, or turned it away unread
    REFUSED = "refused"  # not done: the provider's definite no
    SAME_KEY_AGAIN = "same_key_again"  # the key is in use: an earlier call may still be running
    KEY_CONFLICT = "key_conflict"  # the key is known with another request
    COMPARE = "compare"  # the provider says it exists already: read and compare
    UNKNOWN = "unknown"  # everything else


class LookUp(StrEnum):
    """How an effect can be found again."""

    BY_MARK_IN_LIST = "by_mark_in_list"  # list by target, read every page, match our mark
    BY_RECORD_STATE = "by_record_state"  # read the one record that the write changes
    NONE = "none"


class Consistency(StrEnum):
    """Whether a read sees a write that was acknowledged before it."""

    STRONG = "strong"
    EVENTUAL = "eventual"


class Listing(StrEnum):
    """How recent records of ours can be found without knowing what they were made for."""

    BY_TIME = "by_time"  # list by time of creation, read every page, pick those with our mark
    NONE = "none"


class Need(StrEnum):
    """What a function that calls the provider must be granted."""

    STRIPE_SECRET = "stripe_secret"  # noqa: S105  a name, not a secret
    SEND_MAIL = "send_mail"
    READ_ARTIFACTS = "read_artifacts"
    STORE_ARTIFACTS = "store_artifacts"
    SITE = "site"  # the address of this deployment's own pages


# An hour before the key lapses: long enough for a person to look while a replay is still harmless,
# and short beside a key's day.
KEY_NOTICE_SECONDS = 3600


class BreakerLimits(Record):
    """When a provider that fails is left alone, and for how long; see ``ledger.breaker``.

    The values are ours, and the same for every provider until one gives a reason to differ.
    """

    failures: int = Field(default=5, gt=0)
    """So many writes for which a call failed in a window. A stage repeats what fails, five times in
    a quarter of a minute, so one write counts once. A run makes two at one provider at most, so
    five are of several runs."""

    window_seconds: int = Field(default=60, gt=0)
    """A tick of the sweeper: what fails in it would be asked again in the next one."""

    open_seconds: int = Field(default=30, gt=0)
    """A sixth of the shortest recovery deadline, so an effect in doubt is still read in time. Also
    how long a probe may take before another takes its place."""

    probes: int = Field(default=2, gt=0)
    """So many answers, one after another, before all calls pass again: one may be luck."""


class ErrorRule(Record):
    """One row of the error table. None matches anything; the first matching row wins."""

    error_class: ErrorClass
    kind: FaultKind
    status: int | None = None
    code: str | None = None

    def matches(self, kind: FaultKind, status: int | None, code: str | None) -> bool:
        """Return whether this row speaks about the fault."""
        return self.kind is kind and self.status in (None, status) and self.code in (None, code)


class ProviderContract(Record):
    """What a provider promises, each value with its source in the provider's module."""

    provider: str
    needs: frozenset[Need]
    personal_fields: tuple[str, ...] = ()
    """Names of personal fields that a call reads at the moment of sending."""

    call_timeout_seconds: int
    """After this long without an answer the outcome is unknown."""

    key_lifetime_seconds: int | None
    """How long the provider remembers a key from its first use. None: it knows no keys."""

    key_margin_seconds: int = 0
    """Taken off the lifetime, for clocks that differ and requests that travel."""

    key_notice_seconds: int = KEY_NOTICE_SECONDS
    """How long before its key lapses an effect of unknown outcome is brought before a person."""

    look_up: LookUp
    look_up_consistency: Consistency
    settle_window_seconds: int
    """How long after a call ended its write may still appear."""

    absence_reads: int
    """How many complete reads, apart by the settle window, prove absence. 0: nothing proves it."""

    replay_after_absence: bool
    """Whether a further attempt is allowed once absence is proven."""

    confirmed_by_read: bool
    """False where acceptance is the last thing the provider can say (mail)."""

    recovery_deadline_seconds: int
    """How long an effect may stay unknown before somebody is told."""

    pending_deadline_seconds: int = 14 * 24 * 3600
    """How long a record may stay unfinished before somebody is told. Card refunds that a bank
    holds end within ten business days (Stripe, "Refund and cancel payments")."""

    rechecks_after_seconds: tuple[int, ...] = ()
    """When a confirmed record is read once more, counted from its confirmation: an owner that can
    take its word back is asked again, even after the run has ended."""

    recent_records: Listing = Listing.NONE
    """Whether an audit can list what the provider holds of ours, and compare it with the ledger."""

    breaker: BreakerLimits = BreakerLimits()
    """When recovery and stages leave the provider alone for a while."""

    max_attempts: int
    errors: tuple[ErrorRule, ...]

    def classify(self, kind: FaultKind, status: int | None, code: str | None) -> ErrorClass:
        """Return what a fault means. A fault that no row lists is unknown."""
        for rule in self.errors:
            if rule.matches(kind, status, code):
                return rule.error_class
        return ErrorClass.UNKNOWN

    @property
    def absence_can_be_proven(self) -> bool:
        """Return whether reading can ever show that a write did not happen."""
        return (
            self.look_up is not LookUp.NONE
            and self.look_up_consistency is Consistency.STRONG
            and self.absence_reads > 0
        )
