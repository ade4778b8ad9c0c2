"""The allowed moves of effects and runs. What is not listed here does not happen."""

from collections.abc import Mapping
from enum import StrEnum

from ledger.errors import InvariantBroken


class EffectState(StrEnum):
    """Where one intended outside write stands."""

    PLANNED = "planned"
    ATTEMPTING = "attempting"
    ACCEPTED = "accepted"
    CONFIRMED = "confirmed"
    UNKNOWN = "unknown"
    REJECTED = "rejected"
    CONFLICT = "conflict"
    CONTRADICTED = "contradicted"


class RunState(StrEnum):
    """Where one job for one customer stands."""

    ACTIVE = "active"
    AWAITING_APPROVAL = "awaiting_approval"
    REVIEW = "review"
    COMPLETED = "completed"
    CLOSED = "closed"


EFFECT_TRANSITIONS: Mapping[EffectState, frozenset[EffectState]] = {
    # Unknown again: a worker that had lost its claim learned of a record after all.
    EffectState.PLANNED: frozenset({EffectState.ATTEMPTING, EffectState.UNKNOWN}),
    EffectState.ATTEMPTING: frozenset(
        {
            EffectState.ACCEPTED,
            EffectState.UNKNOWN,
            # A definite refusal, with no earlier attempt unresolved.
            EffectState.REJECTED,
            # The request never left this machine, or was turned away unread: nothing to resolve.
            EffectState.PLANNED,
            # The provider holds our key with another request: never answered with a fresh key.
            EffectState.CONFLICT,
        }
    ),
    EffectState.UNKNOWN: frozenset(
        {
            EffectState.ACCEPTED,
            EffectState.CONFIRMED,
            EffectState.CONFLICT,
            EffectState.PLANNED,  # absence proven, replay allowed
        }
    ),
    EffectState.ACCEPTED: frozenset(
        {EffectState.CONFIRMED, EffectState.REJECTED, EffectState.CONFLICT}
    ),
    EffectState.CONFIRMED: frozenset({EffectState.CONTRADICTED}),
    # A person looks; what they find is read from the provider again, never typed in.
    EffectState.CONFLICT: frozenset({EffectState.UNKNOWN}),
    EffectState.CONTRADICTED: frozenset({EffectState.UNKNOWN}),
    # The provider's last word; a further try is a new effect with its own approval. A late result
    # of an earlier attempt still reopens the question.
    EffectState.REJECTED: frozenset({EffectState.UNKNOWN}),
}

RUN_TRANSITIONS: Mapping[RunState, frozenset[RunState]] = {
    RunState.ACTIVE: frozenset({RunState.AWAITING_APPROVAL, RunState.REVIEW, RunState.COMPLETED}),
    RunState.AWAITING_APPROVAL: frozenset({RunState.ACTIVE, RunState.REVIEW, RunState.CLOSED}),
    RunState.REVIEW: frozenset({RunState.ACTIVE, RunState.AWAITING_APPROVAL, RunState.CLOSED}),
    # An effect that was proven is contradicted later: nothing is closed against the facts.
    RunState.COMPLETED: frozenset({RunState.REVIEW}),
    RunState.CLOSED: frozenset({RunState.REVIEW}),
}

OPEN_RUN_STATES = frozenset({RunState.ACTIVE, RunState.AWAITING_APPROVAL, RunState.REVIEW})
UNSETTLED_EFFECT_STATES = frozenset(
    {EffectState.ATTEMPTING, EffectState.UNKNOWN, EffectState.ACCEPTED}
)
# What is not proven either way. Once a run has ended nobody looks into it any more.
DOUBTFUL_EFFECT_STATES = UNSETTLED_EFFECT_STATES | {
    EffectState.CONFLICT,
    EffectState.CONTRADICTED,
}


def check_effect_move(before: EffectState, after: EffectState) -> None:
    """Raise InvariantBroken unless an effect may move from ``before`` to ``after``."""
    if after not in EFFECT_TRANSITIONS[before]:
        raise InvariantBroken(f"An effect cannot move from {before} to {after}.")


def check_run_move(before: RunState, after: RunState) -> None:
    """Raise InvariantBroken unless a run may move from ``before`` to ``after``."""
    if after not in RUN_TRANSITIONS[before]:
        raise InvariantBroken(f"A run cannot move from {before} to {after}.")
