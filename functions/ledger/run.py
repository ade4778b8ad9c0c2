"""A run: one job for one customer, with everything the ledger holds about it."""

from collections.abc import Callable
from operator import attrgetter
from typing import NamedTuple

from ledger.approval import Approval, ApprovalState
from ledger.checkpoint import Checkpoint
from ledger.effect import Effect
from ledger.record import Scalar, StoredRecord
from ledger.transitions import DOUBTFUL_EFFECT_STATES, OPEN_RUN_STATES, EffectState, RunState

_EFFECT_ID = attrgetter("effect_id")
_APPROVAL_ID = attrgetter("approval_id")
_NAME = attrgetter("name")
_INSTANCE = attrgetter("instance")
_REQUESTED_AT = attrgetter("requested_at_ms")


class Run(StoredRecord):
    """The head of a run. ``sequence`` is the number of its newest event and the write lock."""

    run_id: str
    tenant_id: str
    customer_id: str
    workflow: str
    state: RunState
    request: dict[str, Scalar]
    request_digest: str
    opened_at_ms: int
    epoch: int = 0
    """Which execution owns the run; older ones are fenced."""

    execution_started: bool = False
    """Whether the execution of this epoch has reported in."""

    start_not_before_ms: int = 0
    """Until then an assigned execution is held back, because earlier ones ended too soon."""

    sequence: int = 0
    due_at_ms: int | None = None
    """When the sweeper looks after the run; None when nothing is left to look after."""

    progress_deadline_seconds: int
    max_executions: int
    review_reason: str = ""
    review_since_ms: int | None = None
    """When the present review began; None outside of one."""

    review_recovers: bool = False
    """Whether proof found later ends the review by itself (an overdue unknown that is found)."""

    review_also: tuple[str, ...] = ()
    """What else came up since the review began, oldest first."""

    settled_in_review: tuple[str, ...] = ()
    """Ids of effects whose outcome was found out since the review began."""

    engineering: bool = False
    """Whether an operator asked for an engineer to look."""

    closed_at_ms: int | None = None

    @property
    def is_open(self) -> bool:
        """Return whether anything may still happen."""
        return self.state in OPEN_RUN_STATES

    @property
    def execution_name(self) -> str:
        """Return the name of the execution of this epoch; a name starts at most one execution."""
        return f"{self.run_id}-e{self.epoch}"


class RunLedger(NamedTuple):
    """A run and its records, as one consistent read returned them.

    Its parts were checked when they were made, and it is made anew with every step of a change:
    a tuple, which checks nothing a second time and is made in half the time of a frozen dataclass.
    """

    run: Run
    effects: tuple[Effect, ...] = ()
    approvals: tuple[Approval, ...] = ()
    checkpoints: tuple[Checkpoint, ...] = ()

    def with_run(self, run: Run) -> "RunLedger":
        """Return the same ledger under another head."""
        return RunLedger(
            run=run,
            effects=self.effects,
            approvals=self.approvals,
            checkpoints=self.checkpoints,
        )

    def with_effect(self, effect: Effect) -> "RunLedger":
        """Return the ledger with ``effect`` in the place of what it was, or behind the others."""
        return RunLedger(
            run=self.run,
            effects=_with(self.effects, effect, _EFFECT_ID),
            approvals=self.approvals,
            checkpoints=self.checkpoints,
        )

    def with_approval(self, approval: Approval) -> "RunLedger":
        """Return the same for an approval."""
        return RunLedger(
            run=self.run,
            effects=self.effects,
            approvals=_with(self.approvals, approval, _APPROVAL_ID),
            checkpoints=self.checkpoints,
        )

    def with_checkpoint(self, checkpoint: Checkpoint) -> "RunLedger":
        """Return the same for a checkpoint."""
        return RunLedger(
            run=self.run,
            effects=self.effects,
            approvals=self.approvals,
            checkpoints=_with(self.checkpoints, checkpoint, _NAME),
        )

    def effect(self, effect_id: str) -> Effect | None:
        """Return the effect, None when it was never planned."""
        return next((found for found in self.effects if found.effect_id == effect_id), None)

    def require_effect(self, effect_id: str) -> Effect:
        """Return the effect. Raises KeyError: effects are never removed."""
        return {found.effect_id: found for found in self.effects}[effect_id]

    def approval(self, approval_id: str) -> Approval | None:
        """Return the approval, None when there is none of that id."""
        return next((found for found in self.approvals if found.approval_id == approval_id), None)

    def effect_of(self, operation: str, instance: int) -> Effect | None:
        """Return one instance of an operation, None when it was never intended."""
        return next(
            (
                found
                for found in self.effects
                if found.operation == operation and found.instance == instance
            ),
            None,
        )

    def newest_effect(self, operation: str) -> Effect | None:
        """Return the operation's newest instance, None when nothing was intended yet."""
        instances = [found for found in self.effects if found.operation == operation]
        return max(instances, key=_INSTANCE, default=None)

    def newest_approval(self) -> Approval | None:
        """Return the approval that was requested last, None before the first."""
        return max(self.approvals, key=_REQUESTED_AT, default=None)

    def pending_approval(self) -> Approval | None:
        """Return the approval that waits for a decision, None when none does."""
        newest = self.newest_approval()
        waits = newest and newest.state is ApprovalState.PENDING and not newest.withdrawn
        return newest if waits else None

    def proven(self, name: str) -> Checkpoint | None:
        """Return the checkpoint, None while its claim is not proven.

        A claim holds as long as the effect that proved it is confirmed; one that was contradicted
        since proves nothing, though its record stays.
        """
        found = next((found for found in self.checkpoints if found.name == name), None)
        if found is None or found.withdrawn:
            return None
        if found.effect_id is None:
            return found
        effect = self.effect(found.effect_id)
        holds = effect is not None and effect.state is EffectState.CONFIRMED
        return found if holds and not self.is_undone(found.effect_id) else None

    def is_undone(self, effect_id: str) -> bool:
        """Return whether a counter-effect that is confirmed has taken the effect back."""
        return any(
            found.compensates == effect_id and found.state is EffectState.CONFIRMED
            for found in self.effects
        )

    def may_be_undone(self, effect_id: str) -> bool:
        """Return whether a counter-effect may have taken the effect back, which nobody knows."""
        return any(
            found.compensates == effect_id and found.state in DOUBTFUL_EFFECT_STATES
            for found in self.effects
        )

    def undone_effects(self) -> tuple[Effect, ...]:
        """Return the effects that were taken back. What the run was for is not done any more."""
        return tuple(found for found in self.effects if self.is_undone(found.effect_id))

    def counter_approval(self) -> Approval | None:
        """Return the approval by which an effect is being taken back, None when none is.

        It is being asked for or was given, so the run's own work does not go on.
        """
        newest = self.newest_approval()
        if newest is None or newest.compensates is None or newest.withdrawn:
            return None
        asked = (
            newest.state is ApprovalState.PENDING and self.run.state is RunState.AWAITING_APPROVAL
        )
        return newest if asked or newest.state is ApprovalState.APPROVED else None

    def unsettled_effects(self) -> tuple[Effect, ...]:
        """Return the effects whose provider has to be read before anything else."""
        return tuple(found for found in self.effects if found.unsettled)

    def to_be_made(self) -> tuple[Effect, ...]:
        """Return the effects that an execution is about to attempt, or to attempt again."""
        if self.run.state is not RunState.ACTIVE:
            return ()
        return tuple(
            found
            for found in self.effects
            if found.state is EffectState.PLANNED
            and found.compensates is None
            and not found.superseded
        )


def _with[T: StoredRecord](
    known: tuple[T, ...], changed: T, name_of: Callable[[T], str]
) -> tuple[T, ...]:
    """Return the records that were known, with ``changed`` in its place or behind them."""
    name = name_of(changed)
    for place, found in enumerate(known):
        if name_of(found) == name:
            return (*known[:place], changed, *known[place + 1 :])
    return (*known, changed)


class PersonalFields(StoredRecord):
    """A run's personal data: one item, erasable without touching anything that is proof."""

    run_id: str
    fields: dict[str, str]
