"""A draft of one transaction: every state it changes gets its event, numbered without gaps."""

from collections.abc import Mapping

from ledger.approval import Approval, ApprovalState
from ledger.checkpoint import Checkpoint
from ledger.due import next_look_at_ms
from ledger.effect import Effect
from ledger.event import Actor, Event, EventKind
from ledger.record import Record, Scalar
from ledger.run import PersonalFields, Run, RunLedger
from ledger.store import Change
from ledger.transitions import EffectState, RunState, check_effect_move, check_run_move

# What a reviewer takes in at a glance; each is in the trail as well.
MAX_OTHER_REASONS = 5
FOUND_OUT_STATES = frozenset({EffectState.CONFIRMED, EffectState.REJECTED, EffectState.PLANNED})


class Draft:
    """What one writer wants to change, against the ledger as it was read."""

    def __init__(self, ledger: RunLedger, actor: Actor, now_ms: int, commit_id: str) -> None:
        """Start from ``ledger``; nothing is written before the store commits ``change()``."""
        self.actor = actor
        self.now_ms = now_ms
        self._commit_id = commit_id
        self._base = ledger
        self.ledger = ledger
        """The run as it will be once committed; its head is numbered by ``change``."""

        self._effects: dict[str, Effect] = {}
        self._approvals: dict[str, Approval] = {}
        self._checkpoints: dict[str, Checkpoint] = {}
        self._events: list[Event] = []
        self._personal: PersonalFields | None = None
        self._after_the_end = ""

    @property
    def is_empty(self) -> bool:
        """Return whether there is nothing to write."""
        return not self._events

    @property
    def _run(self) -> Run:
        return self.ledger.run

    def note(
        self,
        kind: EventKind,
        reason: str,
        *,
        subject: str = "",
        prior: str = "",
        state: str = "",
        details: dict[str, Scalar] | None = None,
    ) -> None:
        """Append an event."""
        run = self._run
        self._events.append(
            Event(
                run_id=run.run_id,
                sequence=self._sequence + 1,
                at_ms=self.now_ms,
                kind=kind,
                actor=self.actor,
                reason=reason,
                workflow=run.workflow,
                epoch=run.epoch,
                commit_id=self._commit_id,
                subject=subject,
                prior_state=prior,
                state=state,
                details=details or {},
            )
        )

    def set_run(self, **updates: object) -> None:
        """Change fields of the head other than its state."""
        self.ledger = self.ledger.with_run(_revised(self._run, updates))

    def move_run(self, state: RunState, kind: EventKind, reason: str, **updates: object) -> None:
        """Move the run, with its event. Raises InvariantBroken for a move not in the table."""
        prior = self._run.state
        check_run_move(prior, state)
        if prior is RunState.REVIEW:  # its reason ends with it
            ended = {
                "review_reason": "",
                "review_since_ms": None,
                "review_recovers": False,
                "review_also": (),
                "settled_in_review": (),
            }
            updates = {**ended, **updates}
        self.set_run(state=state, **updates)
        self.note(kind, reason, subject=self._run.run_id, prior=prior, state=state)
        if state is RunState.REVIEW or (prior, state) == (RunState.REVIEW, RunState.ACTIVE):
            self._withdraw_counter()

    def _withdraw_counter(self) -> None:
        """Let a counter-effect that was not made need a new offer, and a new yes.

        Whoever lets the run go on later decides about something else, and must not make it.
        """
        asked = self.ledger.newest_approval()
        over = asked is None or asked.withdrawn or asked.state is ApprovalState.DECLINED
        if asked is None or over or asked.compensates is None:
            return
        made = [self.ledger.effect(found) for found in asked.spent_on.values()]
        if any(found is not None and found.state is not EffectState.PLANNED for found in made):
            return
        self.put_approval(asked.model_copy(update={"withdrawn": True}))
        self.note(
            EventKind.APPROVAL_LAPSED,
            "the run went to review before it was used: only a new offer asks again",
            subject=asked.approval_id,
        )

    def send_to_review(self, reason: str, *, recovers: bool = False) -> None:
        """Move the run to review; one that is there already gets the reason beside its first.

        A review that would have ended by itself no longer does when another reason asks for one
        that does not.
        """
        if self._run.state is RunState.REVIEW:
            self._add_reason(reason, recovers=recovers)
            return
        self.move_run(
            RunState.REVIEW,
            EventKind.REVIEW_REQUIRED,
            reason,
            review_reason=reason,
            review_since_ms=self.now_ms,
            review_recovers=recovers,
            closed_at_ms=None,
        )

    def _add_reason(self, reason: str, *, recovers: bool) -> None:
        run = self._run
        if reason in (run.review_reason, *run.review_also):
            return
        first, other = run.review_reason, reason
        if run.review_recovers and not recovers:
            first, other = reason, run.review_reason
            self.set_run(review_recovers=False)
        also = (*run.review_also, other)[-MAX_OTHER_REASONS:]
        self.set_run(review_reason=first, review_also=also)
        self.note(EventKind.REVIEW_REQUIRED, reason, subject=run.run_id)

    def close_run(self, state: RunState, kind: EventKind, reason: str) -> None:
        """Move the run to one of its ends."""
        self.move_run(state, kind, reason, closed_at_ms=self.now_ms)

    def put_effect(self, effect: Effect) -> None:
        """Write an effect without moving its state; the caller notes why."""
        self._effects[effect.effect_id] = effect
        self.ledger = self.ledger.with_effect(effect)

    def move_effect(
        self,
        effect: Effect,
        state: EffectState,
        kind: EventKind,
        reason: str,
        *,
        details: dict[str, Scalar] | None = None,
        **updates: object,
    ) -> Effect:
        """Move an effect, with its event. Raises InvariantBroken for a move not in the table."""
        check_effect_move(effect.state, state)
        moved = _revised(effect, {**updates, "state": state})
        self.put_effect(moved)
        self.note(
            kind,
            reason,
            subject=effect.effect_id,
            prior=effect.state,
            state=state,
            details=details,
        )
        self._tell_reviewer(moved)
        takes_back = self._run.is_open and self.ledger.counter_approval() is not None
        if effect.state is EffectState.REJECTED and takes_back:
            # It may be what the counter-effect was offered for.
            self.send_to_review(f"{effect.operation} is no longer refused: {reason}")
        if not self._run.is_open:
            self._after_the_end = f"{effect.operation} is {state} after the run had ended: {reason}"
        return moved

    def _tell_reviewer(self, effect: Effect) -> None:
        """Keep what was found out since a review began, which is no longer so once it is in doubt.

        The review's reason may be about this very effect, and a person would decide by words that
        are no longer true.
        """
        if self._run.state is not RunState.REVIEW:
            return
        others = tuple(found for found in self._run.settled_in_review if found != effect.effect_id)
        found_out = (effect.effect_id,) if effect.state in FOUND_OUT_STATES else ()
        if (*others, *found_out) != self._run.settled_in_review:
            self.set_run(settled_in_review=(*others, *found_out))

    def put_approval(self, approval: Approval) -> None:
        """Write an approval; the caller notes why."""
        self._approvals[approval.approval_id] = approval
        self.ledger = self.ledger.with_approval(approval)

    def reach(self, checkpoint: Checkpoint, reason: str) -> None:
        """Write a checkpoint with its event. Evidence of the same record is kept as it is."""
        known = {found.name: found for found in self.ledger.checkpoints}.get(checkpoint.name)
        if (
            known is not None
            and not known.withdrawn
            and known.evidence.record_id == checkpoint.evidence.record_id
            and known.effect_id == checkpoint.effect_id
        ):
            return
        self._put_checkpoint(checkpoint)
        self.note(
            EventKind.CHECKPOINT_REACHED,
            reason,
            subject=checkpoint.name,
            details={"record_id": checkpoint.evidence.record_id},
        )

    def withdraw(self, checkpoint: Checkpoint, reason: str) -> None:
        """Let a checkpoint prove nothing from now on, with its event; what was read stays."""
        self._put_checkpoint(checkpoint.model_copy(update={"withdrawn": True}))
        self.note(EventKind.CHECKPOINT_WITHDRAWN, reason, subject=checkpoint.name)

    def _put_checkpoint(self, checkpoint: Checkpoint) -> None:
        self._checkpoints[checkpoint.name] = checkpoint
        self.ledger = self.ledger.with_checkpoint(checkpoint)

    def put_personal(self, fields: dict[str, str]) -> None:
        """Write the run's personal fields into their one erasable place."""
        self._personal = PersonalFields(run_id=self._run.run_id, fields=fields)

    def change(self) -> Change:
        """Return the transaction, with the time at which the sweeper next looks."""
        if self._after_the_end and not self._run.is_open:
            # One rule for whatever changes after the end: a person sees it, and only they go on.
            self.send_to_review(self._after_the_end)
        due_at_ms = next_look_at_ms(self.ledger, self.now_ms)
        numbered = {"sequence": self._sequence, "due_at_ms": due_at_ms}
        self.ledger = self.ledger.with_run(self._run.model_copy(update=numbered))
        return Change(
            commit_id=self._commit_id,
            expected_sequence=self._base.run.sequence,
            run=self._run,
            effects=tuple(self._effects[key] for key in sorted(self._effects)),
            approvals=tuple(self._approvals[key] for key in sorted(self._approvals)),
            checkpoints=tuple(self._checkpoints[key] for key in sorted(self._checkpoints)),
            events=tuple(self._events),
            personal=self._personal,
        )

    @property
    def _sequence(self) -> int:
        """Return the number of the newest event."""
        return self._base.run.sequence + len(self._events)


def _revised[T: Record](record: T, updates: Mapping[str, object]) -> T:
    """Return ``record`` with other fields, all of it checked anew, unread fields carried along."""
    return type(record)(**{**record.__dict__, **(record.model_extra or {}), **updates})
