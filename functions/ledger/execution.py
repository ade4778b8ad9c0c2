"""Give a run an execution: decided in the ledger first, started by name, harmless if repeated."""

from ledger.assign import assign_execution
from ledger.draft import Draft
from ledger.errors import RetryLater
from ledger.event import Actor
from ledger.jitter import jittered
from ledger.migration import Moved, migrate
from ledger.ports import Ports, StartOutcome
from ledger.run import RunLedger
from ledger.transitions import RunState
from ledger.update import load, update

# Epoch 1 is the run's first execution; its first replacement is expected to help at once.
FIRST_REPLACEMENT = 2
# Each later one waits at least four times longer than the one before it, so that five executions
# outlast an outage of an hour instead of ending with its first minute.
FIRST_HOLD_SECONDS = 180
HOLD_FACTOR = 4

# What a run is moved to is registered, and so deployed as a rule. More than a few moves in a row
# lead in a circle.
MAX_MOVES = 3

EXECUTED_STATES = frozenset({RunState.ACTIVE, RunState.AWAITING_APPROVAL})


def start_execution(ports: Ports, run_id: str, actor: Actor) -> StartOutcome | None:
    """Start the execution that the ledger assigned, at most once; None when none is wanted.

    A run whose version is not deployed is moved by a registered migration, if there is one, and
    goes on as the version that this leads to; otherwise a person has to look.

    Raises RetryLater when the orchestrator gave no answer; repeating the start is safe.
    """
    for moves_left in reversed(range(MAX_MOVES + 1)):
        ledger = load(ports, run_id)
        run = ledger.run
        if not _is_executed(ledger):
            return None
        if run.start_not_before_ms > ports.clock.now_ms():
            return StartOutcome.HELD_BACK  # the sweeper starts it when it is due
        outcome = ports.executions.start(run.workflow, run.execution_name, run_id, run.epoch)
        if outcome is not StartOutcome.NO_SUCH_VERSION:
            return outcome
        if not moves_left:
            break
        match migrate(ports, run_id, run.workflow, actor):
            case Moved.SETTLE_FIRST | Moved.LEFT:
                return StartOutcome.HELD_BACK  # the run is due, and the sweeper comes back to it
            case Moved.REVIEW:
                return outcome
            case Moved.MIGRATED:
                continue
    _stop_moving(ports, run_id, actor)
    return StartOutcome.NO_SUCH_VERSION


def _is_executed(ledger: RunLedger) -> bool:
    """Return whether the run's own work is under way, which an execution does."""
    return ledger.run.state in EXECUTED_STATES and ledger.counter_approval() is None


def hold_seconds(run_id: str, epoch: int) -> int:
    """Return how long the execution of ``epoch`` is held back after the one before it ended.

    The jitter is on top of the wait: executions are counted, and must not be used up at once.
    """
    if epoch <= FIRST_REPLACEMENT:
        return 0
    least_seconds = FIRST_HOLD_SECONDS * int(HOLD_FACTOR ** (epoch - FIRST_REPLACEMENT - 1))
    return least_seconds + jittered(least_seconds, "hold", run_id, epoch)


def replace_execution(
    ports: Ports,
    run_id: str,
    ended_epoch: int,
    reason: str,
    actor: Actor,
    *,
    at_once: bool = False,
) -> StartOutcome | None:
    """Assign and start a new execution for a run whose execution ``ended_epoch`` is gone.

    One that is held back is started by the sweeper, unless a person wants it ``at_once``.
    The older one is fenced by the new epoch, whatever it may still do. A notice about an epoch
    that was replaced already changes nothing. Returns None when nothing was started.
    """

    def decide(draft: Draft) -> None:
        run = draft.ledger.run
        if run.epoch != ended_epoch or not _is_executed(draft.ledger):
            return
        if run.epoch >= run.max_executions:
            draft.send_to_review(f"{run.max_executions} executions ended without finishing")
            return
        # Counted before the work, so that a crash loop ends.
        hold_ms = 0 if at_once else hold_seconds(run_id, run.epoch + 1) * 1000
        assign_execution(draft, reason, hold_ms)

    replaced = update(ports, run_id, actor, decide)
    if replaced.run.epoch != ended_epoch + 1:
        return None
    return start_execution(ports, run_id, actor)


def continue_after_review(ports: Ports, run_id: str, reason: str, actor: Actor) -> None:
    """Give a run that has just left its review a new execution."""
    run = load(ports, run_id).run
    if run.state is not RunState.ACTIVE or run.execution_started:
        return
    try:
        replace_execution(ports, run_id, run.epoch, reason, actor, at_once=True)
    except RetryLater:
        # What ended the review is on record, and the run is due within the start deadline.
        return


def _stop_moving(ports: Ports, run_id: str, actor: Actor) -> None:
    def decide(draft: Draft) -> None:
        draft.send_to_review(f"moved {MAX_MOVES} times, and still to no version that is deployed")

    update(ports, run_id, actor, decide)
