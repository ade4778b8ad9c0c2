"""Assign an execution to a run: decided and numbered in the ledger before anything is started."""

from ledger.draft import Draft
from ledger.event import EventKind


def assign_execution(draft: Draft, reason: str, hold_ms: int = 0) -> None:
    """Give the run its next execution, held back for ``hold_ms``; the older one is fenced by it."""
    run = draft.ledger.run
    draft.set_run(
        epoch=run.epoch + 1,
        execution_started=False,
        start_not_before_ms=draft.now_ms + hold_ms,
    )
    draft.note(
        EventKind.EXECUTION_ASSIGNED,
        reason,
        subject=draft.ledger.run.execution_name,
        prior=run.execution_name,
        state=draft.ledger.run.execution_name,
    )
