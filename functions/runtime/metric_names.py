"""What is measured, as data: names, units, dimensions and meaning.

Imports nothing of this project, so that the stacks can name in an alarm what the code emits.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple

# One constant for every metric: a dimension that named the function would give an alarm as many
# metrics to watch as there are functions.
SERVICE_DIMENSION = "service"
SERVICE = "ledger"


class Unit(StrEnum):
    """The unit of a value, in CloudWatch's words."""

    COUNT = "Count"
    SECONDS = "Seconds"


class Metric(NamedTuple):
    """One metric. Values of its dimensions come from lists in the code, never from input."""

    name: str
    unit: Unit
    meaning: str
    dimensions: tuple[str, ...] = ()


# Measured at the provider and compared with the ledger, by the audit.
DUPLICATE_EFFECTS = Metric(
    "DuplicateEffects",
    Unit.COUNT,
    "effects, or approved operations of a run, that the provider holds more than once",
)
UNLEDGERED_EFFECTS = Metric(
    "UnledgeredEffects",
    Unit.COUNT,
    "recent records that carry our mark and that no attempt in the ledger explains",
)
RECORDS_AUDITED = Metric(
    "RecordsAudited", Unit.COUNT, "marked records that a complete audit compared; said when 0, too"
)

# Measured in the ledger, by the census and the sweeper.
UNKNOWN_PAST_DEADLINE = Metric(
    "UnknownEffectsPastDeadline",
    Unit.COUNT,
    "effects of open runs that are unknown for longer than their recovery deadline",
)
OLDEST_UNKNOWN_AGE = Metric(
    "OldestUnknownAgeSeconds",
    Unit.SECONDS,
    "how long the longest unknown effect of an open run has been so; 0 when none is",
)
RUNS_COUNTED = Metric(
    "RunsCounted", Unit.COUNT, "runs that a complete census read; said when 0, too"
)
RUNS_SWEPT = Metric("RunsSwept", Unit.COUNT, "due runs in a tick of the sweeper; said when 0, too")
RUNS_BROKEN = Metric(
    "RunsBroken",
    Unit.COUNT,
    "times that looking after a run broke in a way that waiting does not mend",
)

# Derived from events, as their transaction is committed.
MANUAL_INTERVENTIONS = Metric(
    "ManualInterventions", Unit.COUNT, "recovery actions that operators took"
)
RECOVERY_ATTEMPTS = Metric(
    "RecoveryAttempts",
    Unit.COUNT,
    "per run, when it ends: executions beyond the first, and lost answers that were looked up",
)
RESTART_TO_RECONCILED = Metric(
    "RestartToReconciledSeconds",
    Unit.SECONDS,
    "from the loss of an answer (for a worker that died: from its claim) to the provider's word",
)
APPROVALS_OVERDUE = Metric(
    "ApprovalsOverdue", Unit.COUNT, "requests for a decision that ended without one"
)
CONTRADICTED_EFFECTS = Metric(
    "ContradictedEffects", Unit.COUNT, "confirmed effects whose owner now says otherwise"
)
REVIEWS_REQUIRED = Metric("ReviewsRequired", Unit.COUNT, "reasons for a run to wait for a person")

# Seen at the edge of a provider's adapter.
PROVIDER_ERRORS = Metric(
    "ProviderErrors",
    Unit.COUNT,
    "calls and reads without a record, by provider and by what its contract says that this means",
    dimensions=("provider", "error_class"),
)

METRICS: Mapping[str, Metric] = {
    found.name: found
    for found in (
        DUPLICATE_EFFECTS,
        UNLEDGERED_EFFECTS,
        RECORDS_AUDITED,
        UNKNOWN_PAST_DEADLINE,
        OLDEST_UNKNOWN_AGE,
        RUNS_COUNTED,
        RUNS_SWEPT,
        RUNS_BROKEN,
        MANUAL_INTERVENTIONS,
        RECOVERY_ATTEMPTS,
        RESTART_TO_RECONCILED,
        APPROVALS_OVERDUE,
        CONTRADICTED_EFFECTS,
        REVIEWS_REQUIRED,
        PROVIDER_ERRORS,
    )
}
