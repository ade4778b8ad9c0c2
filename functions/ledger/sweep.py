"""Look after one due run. The index only nominates; what counts is the ledger as read now."""

from enum import StrEnum

from ledger.approve import lapse_approval
from ledger.draft import Draft
from ledger.errors import ProviderUnavailable, RetryLater
from ledger.event import Actor, EventKind
from ledger.execution import EXECUTED_STATES, replace_execution, start_execution
from ledger.ports import ExecutionStatus, Ports, StartOutcome
from ledger.recheck import note_unreadable, recheck_confirmed
from ledger.reconcile import Standing, reconcile_run
from ledger.run import RunLedger
from ledger.transitions import EffectState, RunState
from ledger.update import load, update

SWEEPER = Actor(kind="reconciler", actor_id="sweeper")


class SweepResult(StrEnum):
    """What looking after a run came to."""

    SKIPPED = "skipped"  # not due, closed, claimed by another sweeper, or a worker is alive
    WAITING = "waiting"  # looked at; an answer or a person is still owed
    REVIEW = "review"
    STARTED = "started"  # its assigned execution had not been started
    WOKEN = "woken"  # a decision was on record that nobody had acted on
    REPLACED = "replaced"  # its execution was gone or stuck
    COUNTER = "counter"  # the customer has approved a counter-effect, which is to be made now
    RECHECKED = "rechecked"  # it has ended, and what it did still stands as far as it was asked


def sweep_run(ports: Ports, run_id: str) -> SweepResult:
    """Return what was done for a nominated run.

    Raises RetryLater when a system gave no answer; the run stays due and is nominated again.
    """
    claimed = _claim(ports, run_id)
    if claimed is None:
        return SweepResult.SKIPPED
    broken: list[Exception] = []
    result = _look_after(ports, claimed, broken)
    if broken:
        raise broken[0]
    return result


def _look_after(ports: Ports, claimed: RunLedger, broken: list[Exception]) -> SweepResult:
    """Return what was done; a re-read that breaks is put into ``broken`` and hides nothing else."""
    run_id = claimed.run.run_id
    rechecked = _recheck_confirmed(ports, claimed, broken)
    if not claimed.run.is_open or rechecked is SweepResult.REVIEW:
        return rechecked
    owed = bool(claimed.unsettled_effects())
    if owed:
        outcome = reconcile_run(ports, run_id, SWEEPER)
        if outcome.standing is Standing.REVIEW:
            return SweepResult.REVIEW
    ledger = load(ports, run_id)
    if ledger.run.state is RunState.REVIEW:
        return SweepResult.REVIEW
    if ledger.run.state not in EXECUTED_STATES:
        return SweepResult.SKIPPED
    return _keep_going(ports, ledger, owed=owed)


def _claim(ports: Ports, run_id: str) -> RunLedger | None:
    """Return the run as claimed for this sweep, None when it is not to be touched.

    The commit moves the due time on, so a second sweeper, or the same tick delivered again, finds
    a run that is no longer due.
    """
    claimed = False

    def decide(draft: Draft) -> None:
        nonlocal claimed
        claimed = False
        run = draft.ledger.run
        if run.due_at_ms is None or run.due_at_ms > draft.now_ms:
            return
        if any(
            found.state is EffectState.ATTEMPTING and found.claim_is_live(draft.now_ms)
            for found in draft.ledger.effects
        ):
            return
        claimed = True
        draft.note(EventKind.SWEEP_CLAIMED, "due", prior=run.state, state=run.state)
        lapse_approval(draft)

    ledger = update(ports, run_id, SWEEPER, decide)
    return ledger if claimed else None


def _recheck_confirmed(ports: Ports, ledger: RunLedger, broken: list[Exception]) -> SweepResult:
    """Ask the owners of what a run did once more: a refund that succeeded can fail days later.

    One that cannot be asked does not hide those behind it.
    """
    result = SweepResult.RECHECKED
    for effect in ledger.effects:
        recheck_at_ms = effect.recheck_at_ms()
        if recheck_at_ms is None or recheck_at_ms > ports.clock.now_ms():
            continue
        if ledger.is_undone(effect.effect_id):
            continue
        try:
            holds = recheck_confirmed(ports, ledger.run.run_id, effect, SWEEPER, scheduled=True)
        except ProviderUnavailable as unavailable:
            note_unreadable(ports, ledger.run.run_id, effect, SWEEPER, str(unavailable))
            result = SweepResult.WAITING
            continue
        except RetryLater:
            raise
        except Exception as error:  # noqa: BLE001  raised once the others were looked after
            broken.append(error)
            continue
        if not holds:
            return SweepResult.REVIEW
    return result


def _keep_going(ports: Ports, ledger: RunLedger, *, owed: bool) -> SweepResult:
    run = ledger.run
    if ledger.counter_approval() is not None:
        waits = run.state is RunState.AWAITING_APPROVAL or ledger.unsettled_effects()
        return SweepResult.WAITING if waits else SweepResult.COUNTER
    status = ports.executions.status(run.workflow, run.execution_name)
    if status is ExecutionStatus.NEVER_STARTED:
        return _result(start_execution(ports, run.run_id, SWEEPER), SweepResult.STARTED)
    if status is ExecutionStatus.ENDED:
        return _replace(ports, ledger, "its execution had ended with the run still open")
    if run.state is RunState.AWAITING_APPROVAL or owed:
        return SweepResult.WAITING  # it waits for a person, or for the read that was just made
    if not run.execution_started and _ring(ports, ledger):
        return SweepResult.WOKEN
    return _replace(ports, ledger, "its execution made no progress before the deadline")


def _ring(ports: Ports, ledger: RunLedger) -> bool:
    approval = ledger.newest_approval()
    return bool(approval and approval.task_token and ports.doorbell.ring(approval.task_token))


def _replace(ports: Ports, ledger: RunLedger, reason: str) -> SweepResult:
    run = ledger.run
    outcome = replace_execution(ports, run.run_id, run.epoch, reason, SWEEPER)
    return _result(outcome, SweepResult.REPLACED)


def _result(outcome: StartOutcome | None, started: SweepResult) -> SweepResult:
    if outcome is StartOutcome.HELD_BACK and started is SweepResult.STARTED:
        return SweepResult.WAITING
    stopped = outcome in (None, StartOutcome.NO_SUCH_VERSION)
    return SweepResult.REVIEW if stopped else started
