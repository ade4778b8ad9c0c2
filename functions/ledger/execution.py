"""Give a run an execution: decided in the ledger first, started by name, harmless if repeated."""

from ledger.draft import Draft
from ledger.errors import RetryLater
from ledger.event import Actor, EventKind
from ledger.ports import Ports, StartOutcome
from ledger.run import RunLedger
from ledger.transitions import RunState
from ledger.update import load, update

# Epoch 1 is the run's first execution; its first replacement is expected to help at once.
FIRST_REPLACEMENT = 2
# Each later one waits four times longer than the one before it, so that five executions outlast an
# outage of an hour instead of ending with its first minute.
FIRST_HOLD_SECONDS = 240
HOLD_FACTOR = 4

EXECUTED_STATES = frozenset({RunState.ACTIVE, RunState.AWAITING_APPROVAL})


def start_execution(ports: Ports, run_id: str, actor: Actor) -> StartOutcome | None:
    """Start the execution that the ledger assigned, at most once; None when none is wanted.

    Raises RetryLater when the orchestrator gave no answer; repeating the start is safe.
    """
    run = load(ports, run_id).run
    if run.state not in EXECUTED_STATES:
        return None
    if run.start_not_before_ms > ports.clock.now_ms():
        return StartOutcome.HELD_BACK  # the sweeper starts it when it is due
    outcome = ports.executions.start(run.workflow, run.execution_name, run_id, run.epoch)
    if outcome is StartOutcome.NO_SUCH_VERSION:
        _stop_without_version(ports, run_id, actor)
    return outcome


def hold_seconds(epoch: int) -> int:
    """Return how long the execution of ``epoch`` is held back after the one before it ended."""
    if epoch <= FIRST_REPLACEMENT:
        return 0
    return FIRST_HOLD_SECONDS * int(HOLD_FACTOR ** (epoch - FIRST_REPLACEMENT - 1))


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
        if run.epoch != ended_epoch or run.state not in EXECUTED_STATES:
            return
        if run.epoch >= run.max_executions:
            draft.send_to_review(f"{run.max_executions} executions ended without finishing")
            return
        # Counted before the work, so that a crash loop ends.
        hold_ms = 0 if at_once else hold_seconds(run.epoch + 1) * 1000
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


def _stop_without_version(ports: Ports, run_id: str, actor: Actor) -> RunLedger:
    def decide(draft: Draft) -> None:
        draft.send_to_review(f"no compatible version: {draft.ledger.run.workflow} is not deployed")

    return update(ports, run_id, actor, decide)
