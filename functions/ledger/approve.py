"""Ask a person for one exact yes, and write the answer down before anything acts on it."""

from enum import StrEnum

from ledger.approval import Approval, ApprovalState
from ledger.authorise import approval_payload, bound_from_request, missing_yes
from ledger.checkpoint import Checkpoint
from ledger.consequence import consequence_of, consequences_of, what_changed
from ledger.draft import Draft
from ledger.effect import Evidence
from ledger.errors import LedgerError, RequestRefused
from ledger.event import Actor, EventKind
from ledger.idempotency import approval_id_for, effect_id_for
from ledger.instance import instance_of
from ledger.ports import Ports
from ledger.record import Scalar
from ledger.run import RunLedger
from ledger.task import Task, check_may_act, check_version
from ledger.transitions import EffectState, RunState
from ledger.update import update
from ledger.workflow import LEDGER, Operation, WorkflowDefinition

# A customer asked a third time in vain is not the one who can help; a person should look.
MAX_REQUESTS = 3


class Decision(StrEnum):
    """What a person may answer."""

    APPROVE = "approve"
    DECLINE = "decline"


def request_approval(
    ports: Ports, definition: WorkflowDefinition, task: Task, checkpoint: str, task_token: str
) -> RunLedger:
    """Return the run with a decision requested, or already made.

    A pending request is asked again with the new token only; the customer sees one request. When
    there is nothing left to wait for, the execution's own doorbell is rung at once.
    """

    def decide(draft: Draft) -> None:
        check_version(draft.ledger.run, definition.version)
        check_may_act(draft.ledger, task)
        if lapse_approval(draft):
            return
        if draft.ledger.proven(checkpoint) is not None and _covers(draft, definition):
            return
        pending = _pending(draft, definition)
        if pending is not None:
            _wait_again(draft, pending, task_token)
        else:
            _ask(draft, definition, checkpoint, task_token)

    ledger = update(ports, task.run_id, task.actor, decide)
    if ledger.run.state is not RunState.AWAITING_APPROVAL:
        ports.doorbell.ring(task_token)
    return ledger


def _pending(draft: Draft, definition: WorkflowDefinition) -> Approval | None:
    """Return the request that still asks for what would be done, None when none does."""
    pending = draft.ledger.pending_approval()
    if pending is None or pending.expired(draft.now_ms):
        return None
    return None if what_changed(definition, draft.ledger, pending) else pending


def _covers(draft: Draft, definition: WorkflowDefinition) -> bool:
    """Return whether the newest approval lets every write that is still to be made go ahead.

    The same question as before the write itself: a yes that is good here and not there would send
    the execution round in circles.
    """
    ledger = draft.ledger
    for operation in definition.approved_operations:
        instance = instance_of(ledger, operation)
        effect_id = effect_id_for(ledger.run.run_id, operation.name, instance)
        effect = ledger.effect(effect_id)
        if effect and effect.state is EffectState.CONFIRMED:
            continue
        bound = effect.bound if effect else bound_from_request(operation, ledger.run.request)
        if missing_yes(definition, ledger, operation.name, bound, effect_id, draft.now_ms):
            return False
    return True


def _wait_again(draft: Draft, pending: Approval, task_token: str) -> None:
    """Wait for the decision that was asked for already, behind a new token."""
    reason = "a new execution waits for the same decision"
    if pending.task_token != task_token:
        draft.put_approval(pending.model_copy(update={"task_token": task_token}))
        draft.note(EventKind.APPROVAL_WAIT_RENEWED, reason, subject=pending.approval_id)
    if draft.ledger.run.state is not RunState.AWAITING_APPROVAL:
        draft.move_run(RunState.AWAITING_APPROVAL, EventKind.APPROVAL_WAIT_RENEWED, reason)


def _ask(draft: Draft, definition: WorkflowDefinition, checkpoint: str, task_token: str) -> None:
    asked = sum(1 for found in draft.ledger.approvals if _was_in_vain(found))
    if asked >= MAX_REQUESTS:
        draft.send_to_review(f"the customer was asked {asked} times without a usable yes")
        return
    put_request(draft, definition, checkpoint, "the customer is asked for exactly this", task_token)


def _was_in_vain(approval: Approval) -> bool:
    """Return whether a request for the run's own work let nothing of it be done."""
    return approval.compensates is None and not approval.spent_on


def put_request(
    draft: Draft,
    definition: WorkflowDefinition,
    checkpoint: str,
    reason: str,
    task_token: str | None = None,
) -> None:
    """Write a request for a decision on what is left to do, and wait for it."""
    payload = approval_payload(definition, draft.ledger)
    now = consequences_of(definition)
    asked = {name: now[name] for name in payload}
    _put(draft, definition, checkpoint, reason, payload, asked, task_token=task_token)


def put_counter_request(
    draft: Draft, definition: WorkflowDefinition, counter: Operation, compensated: str, reason: str
) -> None:
    """Write a request for a decision on one counter-effect and nothing else, and wait for it.

    ``compensated`` is the id of the effect that it takes back.
    """
    payload = {counter.name: bound_from_request(counter, draft.ledger.run.request)}
    asked = {counter.name: consequence_of(counter)}
    # A checkpoint of its own: a yes to this proves nothing about what was asked before.
    checkpoint = f"{counter.name}_approved"
    _put(draft, definition, checkpoint, reason, payload, asked, compensates=compensated)


def _put(
    draft: Draft,
    definition: WorkflowDefinition,
    checkpoint: str,
    reason: str,
    payload: dict[str, dict[str, Scalar]],
    consequences: dict[str, str],
    *,
    task_token: str | None = None,
    compensates: str | None = None,
) -> None:
    newest = draft.ledger.newest_approval()
    # Later than the one before it, whatever this machine's clock says: the newest request counts.
    requested_at_ms = max(draft.now_ms, newest.requested_at_ms + 1 if newest else 0)
    approval = Approval(
        approval_id=approval_id_for(draft.ledger.run.run_id, len(draft.ledger.approvals) + 1),
        workflow=definition.version,
        checkpoint=checkpoint,
        payload=payload,
        consequences=consequences,
        digest=Approval.payload_digest(payload, consequences),
        requested_at_ms=requested_at_ms,
        expires_at_ms=draft.now_ms + definition.approval_lifetime_seconds * 1000,
        compensates=compensates,
        task_token=task_token,
    )
    draft.put_approval(approval)
    if draft.ledger.run.state is RunState.AWAITING_APPROVAL:  # for something else, until now
        draft.note(EventKind.APPROVAL_REQUESTED, reason, subject=approval.approval_id)
    else:
        draft.move_run(RunState.AWAITING_APPROVAL, EventKind.APPROVAL_REQUESTED, reason)


def decide_approval(
    ports: Ports, run_id: str, approval_id: str, shown_digest: str, decision: Decision, actor: Actor
) -> RunLedger:
    """Return the run with the decision recorded; the first decision wins.

    Raises RequestRefused when the request is unknown, expired, already decided otherwise, or when
    ``shown_digest`` is not the digest of what was asked. Nothing acts before it is recorded.
    """

    def decide(draft: Draft) -> None:
        approval = draft.ledger.approval(approval_id)
        if approval is None:
            raise RequestRefused("approval-not-found", "There is no such approval request.")
        if shown_digest != approval.digest:
            raise RequestRefused(
                "digest-mismatch",
                "The digest is not that of the payload on record. Read the run again and show "
                "the customer what it says now.",
            )
        if _is_repeat(approval, decision, actor):
            return
        _check_open(draft, approval)
        if decision is Decision.APPROVE:
            _grant(draft, approval, actor)
        else:
            _decline(draft, approval, actor)

    ledger = update(ports, run_id, actor, decide)
    _wake(ports, ledger, approval_id)
    return ledger


def _is_repeat(approval: Approval, decision: Decision, actor: Actor) -> bool:
    wanted = ApprovalState.APPROVED if decision is Decision.APPROVE else ApprovalState.DECLINED
    return approval.state is wanted and approval.decided_by == actor.actor_id


def _check_open(draft: Draft, approval: Approval) -> None:
    if approval.state is not ApprovalState.PENDING:
        raise RequestRefused(
            "already-decided", f"This request was already {approval.state}; nothing was changed."
        )
    if approval != draft.ledger.newest_approval():
        raise RequestRefused(
            "approval-replaced",
            "A newer request has taken its place; nothing was changed. Read the run again and show "
            "the customer what it says now.",
        )
    if approval.expired(draft.now_ms):
        raise RequestRefused(
            "approval-expired", "The request has expired; nothing was started. Ask for a new one."
        )
    if draft.ledger.run.state is not RunState.AWAITING_APPROVAL:
        raise RequestRefused(
            "not-awaiting-approval",
            f"The run is {draft.ledger.run.state} and waits for no decision.",
        )


def _grant(draft: Draft, approval: Approval, actor: Actor) -> None:
    draft.put_approval(
        approval.model_copy(
            update={
                "state": ApprovalState.APPROVED,
                "decided_by": actor.actor_id,
                "decided_at_ms": draft.now_ms,
            }
        )
    )
    # The execution has yet to wake: until it reports in, the sweeper looks soon.
    draft.move_run(
        RunState.ACTIVE,
        EventKind.APPROVAL_GRANTED,
        "the customer approved exactly this",
        execution_started=False,
    )
    draft.reach(
        Checkpoint(
            name=approval.checkpoint,
            evidence=Evidence(
                source=LEDGER,
                record_id=approval.approval_id,
                provider_status=ApprovalState.APPROVED,
                fields={"digest": approval.digest, "decided_by": actor.actor_id},
                read_at_ms=draft.now_ms,
            ),
            reached_at_ms=draft.now_ms,
        ),
        "a person said yes",
    )


def _decline(draft: Draft, approval: Approval, actor: Actor) -> None:
    draft.put_approval(
        approval.model_copy(
            update={
                "state": ApprovalState.DECLINED,
                "decided_by": actor.actor_id,
                "decided_at_ms": draft.now_ms,
            }
        )
    )
    if any(found.state is not EffectState.PLANNED for found in draft.ledger.effects):
        draft.note(EventKind.APPROVAL_DECLINED, "declined", subject=approval.approval_id)
        draft.send_to_review("the customer declined after part of the work was done")
        return
    draft.close_run(
        RunState.CLOSED, EventKind.APPROVAL_DECLINED, "the customer declined; nothing was done"
    )


def _wake(ports: Ports, ledger: RunLedger, approval_id: str) -> None:
    approval = ledger.approval(approval_id)
    if approval is None or approval.task_token is None:
        return
    try:
        ports.doorbell.ring(approval.task_token)
    except LedgerError:
        # The decision is on record and the run is due within the start deadline: the sweeper
        # continues it. The person's answer must not fail because a bell did.
        return


def lapse_approval(draft: Draft) -> bool:
    """Send the run to review when its request ran out unanswered. Return whether it did."""
    pending = draft.ledger.pending_approval()
    if (
        draft.ledger.run.state is not RunState.AWAITING_APPROVAL
        or pending is None
        or not pending.expired(draft.now_ms)
    ):
        return False
    draft.note(EventKind.APPROVAL_LAPSED, "nobody decided in time", subject=pending.approval_id)
    draft.send_to_review("the customer did not decide in time")
    return True
