"""Read, decide, commit; and when somebody else was first, read and decide again."""

from collections.abc import Callable

from ledger.draft import Draft
from ledger.errors import LedgerMoved, RequestRefused
from ledger.event import Actor
from ledger.ports import Ports
from ledger.run import RunLedger

# One run has few writers: its worker, a sweeper, a person. Losing five times in a row means a
# storm, and the caller's own back-off is the better place to wait.
MAX_DECISIONS = 5


def load(ports: Ports, run_id: str) -> RunLedger:
    """Return the run as it is now. Raises RequestRefused when there is none."""
    ledger = ports.store.load(run_id)
    if ledger is None:
        raise RequestRefused("run-not-found", "There is no such run.")
    return ledger


def update(ports: Ports, run_id: str, actor: Actor, decide: Callable[[Draft], None]) -> RunLedger:
    """Return the run after ``decide`` was applied to it in one transaction.

    ``decide`` may be called again on a newer ledger, so it must not act on the outside.

    Raises:
        LedgerMoved: other writers were faster each time.
        LedgerUnavailable: the store gave no answer.
    """
    for _ in range(MAX_DECISIONS):
        draft = Draft(load(ports, run_id), actor, ports.clock.now_ms(), ports.ids.new_id())
        decide(draft)
        if draft.is_empty:
            return draft.ledger
        change = draft.change()
        try:
            ports.store.commit(change)
        except LedgerMoved:
            continue
        return draft.ledger
    raise LedgerMoved(f"Run {run_id} changed {MAX_DECISIONS} times while deciding; try again.")
