"""Tell a run that waits out an outage from one that is stuck."""

from collections.abc import Iterator
from contextlib import contextmanager

from ledger.draft import Draft
from ledger.errors import ProviderUnavailable
from ledger.event import EventKind
from ledger.ports import Ports
from ledger.task import Task
from ledger.update import update


@contextmanager
def showing_life(ports: Ports, task: Task) -> Iterator[None]:
    """Note, now and then, that a stage is waiting for a provider that cannot be read.

    Without it the sweeper would see no progress and replace an execution that is well, until the
    run had used up all that it may have.
    """
    try:
        yield
    except ProviderUnavailable as unavailable:
        _note(ports, task, str(unavailable))
        raise


def _note(ports: Ports, task: Task, reason: str) -> None:
    def decide(draft: Draft) -> None:
        run = draft.ledger.run
        due_at_ms = run.due_at_ms
        half_ms = run.progress_deadline_seconds * 1000 // 2
        # A run that has ended is due for other reasons, and no stage of it waits.
        if not run.is_open or run.epoch != task.epoch or due_at_ms is None:
            return
        # One event for each half deadline, however often the stage is retried.
        if due_at_ms - draft.now_ms < half_ms:
            draft.note(EventKind.PROVIDER_UNREADABLE, reason, prior=run.state, state=run.state)

    update(ports, task.run_id, task.actor, decide)
