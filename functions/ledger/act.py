"""Perform an operator's action: once, against the view it was chosen on, with actor and reason."""

from functools import partial

from ledger.actions import offers
from ledger.approve import put_counter_request, put_request
from ledger.assign import assign_execution
from ledger.contract import LookUp
from ledger.draft import Draft
from ledger.effect import ATTESTED, Effect
from ledger.errors import InvariantBroken, RequestRefused, RetryLater
from ledger.event import Actor, Event, EventKind
from ledger.execution import continue_after_review, start_execution
from ledger.gone import contract_of, is_gone
from ledger.migration import carry_over
from ledger.offer import Offer, RecoveryAction, find_offer
from ledger.ports import Ports
from ledger.provider import ProviderRecord, RecordStatus
from ledger.reconcile import reconcile_effect
from ledger.record import Record
from ledger.run import RunLedger
from ledger.settle import lapsed, reopen_unknown, settle_confirmed
from ledger.transitions import EffectState, RunState
from ledger.update import load, update
from ledger.versions import Versions
from ledger.workflow import LEDGER, WorkflowDefinition

MAX_REASON_CHARACTERS = 500
# A person who lets a run go on gives it as many new executions as it may use before somebody has
# to look again.
EXTRA_EXECUTIONS = 5
# A transaction holds no more items (DynamoDB, "Transact write items"), and an action is one.
MAX_EVENTS_OF_A_CHANGE = 100


class Choice(Record):
    """What an operator chose, and on which view."""

    action: RecoveryAction
    view_version: int
    reason: str
    effect_id: str | None = None


def perform_action(
    ports: Ports, definition: WorkflowDefinition, run_id: str, choice: Choice, actor: Actor
) -> RunLedger:
    """Return the run after the action was recorded and, where it is one, carried out.

    An action that is on record already is answered as done: its first answer may have been lost.
    Raises RequestRefused when the run has changed since the view, when the action is not allowed,
    or when no reason is given. Nothing is changed then.
    """
    reason = choice.reason.strip()
    if not 0 < len(reason) <= MAX_REASON_CHARACTERS:
        raise RequestRefused(
            "reason-missing", f"Say why, in 1 to {MAX_REASON_CHARACTERS} characters."
        )
    choice = choice.model_copy(update={"reason": reason})

    prior = RunState.ACTIVE
    is_newest = True

    def decide(draft: Draft) -> None:
        nonlocal prior, is_newest
        run = draft.ledger.run
        prior = run.state
        if run.sequence != choice.view_version:
            landed = _landed(ports, run_id, choice, actor)
            prior = RunState(landed[0].prior_state)
            is_newest = landed[-1].sequence == run.sequence
            return
        offer = _allowed(ports, definition, draft, choice)
        draft.note(
            EventKind.OPERATOR_ACTED,
            choice.reason,
            subject=run_id,
            prior=run.state,
            state=run.state,
            details={
                "action": choice.action,
                "label": offer.label,
                "effect_id": choice.effect_id or "",
            },
        )
        _apply(ports, draft, definition, choice)

    acted = update(ports, run_id, actor, decide)
    if not is_newest:
        return acted  # what follows it has begun, or is somebody else's by now
    if choice.action is RecoveryAction.RECONCILE:
        _ask(ports, acted, actor)
        acted = load(ports, run_id)
    # Only a run that the action brought back needs an execution; one that is active has one.
    if choice.action is RecoveryAction.MOVE:
        _start(ports, run_id, actor)
    elif prior is RunState.REVIEW and acted.run.state is RunState.ACTIVE:
        continue_after_review(ports, run_id, "an operator acted", actor)
    return load(ports, run_id)


def _landed(ports: Ports, run_id: str, choice: Choice, actor: Actor) -> list[Event]:
    """Return the events of this very action, which is on record. Raises RequestRefused if not."""
    since = ports.store.events(run_id, choice.view_version, MAX_EVENTS_OF_A_CHANGE)
    if not since or not _is_record_of(since[0], choice, actor):
        raise RequestRefused(
            "view-changed",
            "The run has changed since you looked; nothing was done. Read it again and choose "
            "on what it says now.",
        )
    return [event for event in since if event.commit_id == since[0].commit_id]


def _is_record_of(event: Event, choice: Choice, actor: Actor) -> bool:
    return (
        event.kind is EventKind.OPERATOR_ACTED
        and (event.actor.kind, event.actor.actor_id) == (actor.kind, actor.actor_id)
        and event.details["action"] == choice.action
        and event.details["effect_id"] == (choice.effect_id or "")
        and event.reason == choice.reason
    )


def _allowed(ports: Ports, definition: WorkflowDefinition, draft: Draft, choice: Choice) -> Offer:
    offer = find_offer(
        offers(
            definition,
            draft.ledger,
            partial(contract_of, ports.providers),
            draft.now_ms,
            ports.versions,
        ),
        choice.action,
        choice.effect_id,
    )
    if offer is None:
        raise RequestRefused("action-not-allowed", "There is no such action on this run.")
    if not offer.allowed:
        raise RequestRefused("action-not-allowed", f"{offer.label}: {offer.refused_because}")
    return offer


def _apply(ports: Ports, draft: Draft, definition: WorkflowDefinition, choice: Choice) -> None:
    match choice.action:
        case RecoveryAction.RECONCILE:
            _look_again(ports, draft)
        case RecoveryAction.RESUME:
            _go_on(draft, "an operator lets the run go on")
        case RecoveryAction.REQUEST_APPROVAL:
            _grant_executions(draft)
            checkpoint = _approval_checkpoint(definition)
            put_request(draft, definition, checkpoint, "an operator asks for a fresh decision")
        case RecoveryAction.MARK_ENGINEERING:
            draft.set_run(engineering=True)
        case RecoveryAction.CLOSE:
            _close(draft)
        case RecoveryAction.TREAT_AS_SENT:
            _treat_as_sent(draft, _mail(draft, choice))
        case RecoveryAction.SEND_AGAIN:
            _send_again(draft, _mail(draft, choice))
        case RecoveryAction.MOVE:
            _move(ports, draft)
        case RecoveryAction.OFFER_COUNTER:
            _offer_counter(draft, definition, choice)


def _close(draft: Draft) -> None:
    for effect in draft.ledger.unsettled_effects():
        lapsed(draft, effect)
    draft.close_run(RunState.CLOSED, EventKind.RUN_CLOSED, "an operator closed it as it is")


def _ask(ports: Ports, ledger: RunLedger, actor: Actor) -> None:
    """Look every unsettled effect up whose provider is still there."""
    for effect in ledger.unsettled_effects():
        if not is_gone(contract_of(ports.providers, effect.provider)):
            reconcile_effect(ports, ledger.run.run_id, effect.effect_id, actor)


def _look_again(ports: Ports, draft: Draft) -> None:
    """Reopen what is in conflict, so that the read that follows may settle it."""
    for effect in draft.ledger.effects:
        lookable = contract_of(ports.providers, effect.provider).look_up is not LookUp.NONE
        if lookable and effect.state in (EffectState.CONFLICT, EffectState.CONTRADICTED):
            draft.move_effect(
                effect,
                EffectState.UNKNOWN,
                EventKind.EFFECT_UNKNOWN,
                "an operator asks the provider again",
                unsettled_since_ms=draft.now_ms,
                absence_reads_at_ms=(),
                candidates=(),
            )
    _grant_executions(draft)


def _go_on(draft: Draft, reason: str) -> None:
    draft.move_run(
        RunState.ACTIVE,
        EventKind.REVIEW_ENDED,
        reason,
        review_reason="",
        review_recovers=False,
        execution_started=False,
    )
    _grant_executions(draft)


def _move(ports: Ports, draft: Draft) -> None:
    way = (ports.versions or Versions()).way_on(draft.ledger.run.workflow)
    if way is None:
        raise InvariantBroken("A move was allowed for which there is no migration.")
    carry_over(draft, way)
    _go_on(draft, f"an operator lets the run go on as {way.new.version}")
    assign_execution(draft, "an operator moved it to another version")


def _offer_counter(draft: Draft, definition: WorkflowDefinition, choice: Choice) -> None:
    """Ask for a yes to the counter-effect alone; whatever an older execution does is refused."""
    effect = draft.ledger.require_effect(choice.effect_id or "")
    (counter,) = (
        found
        for found in definition.counter_operations
        if found.compensates and found.compensates.operation == effect.operation
    )
    reason = "an operator offers to take back what was done"
    put_counter_request(draft, definition, counter, effect.effect_id, reason)
    assign_execution(draft, "the reconciler makes the counter-effect once it is approved")


def _start(ports: Ports, run_id: str, actor: Actor) -> None:
    try:
        start_execution(ports, run_id, actor)
    except RetryLater:
        return  # the move is on record, and the run is due within the start deadline


def _grant_executions(draft: Draft) -> None:
    """Give a run that a person looked at new executions and attempts: it may have used up its own.

    An attempt that was never proven to have had no effect still counts where that matters.
    """
    draft.set_run(max_executions=draft.ledger.run.epoch + EXTRA_EXECUTIONS)
    for effect in draft.ledger.effects:
        if effect.state is EffectState.PLANNED:
            forgiven = {"attempts_forgiven": len(effect.attempts)}
            draft.put_effect(effect.model_copy(update=forgiven))


def _approval_checkpoint(definition: WorkflowDefinition) -> str:
    """Return the checkpoint that a person's yes proves: the ledger itself owns it."""
    return next(found.checkpoint for found in definition.contracts if found.owner == LEDGER)


def _mail(draft: Draft, choice: Choice) -> Effect:
    """Return the mail that the allowed offer is about."""
    return draft.ledger.require_effect(choice.effect_id or "")


def _treat_as_sent(draft: Draft, mail: Effect) -> None:
    # Also where settling the mail ends the review by itself: it may have used up its executions.
    _grant_executions(draft)
    if mail.state is not EffectState.UNKNOWN:
        mail = reopen_unknown(draft, mail, "an operator decides what could not be proven")
    attested = ProviderRecord(
        record_id=ATTESTED,
        status=RecordStatus.DONE,
        provider_status="treated as sent by an operator",
        mark=mail.effect_id,
        fields=mail.bound,
    )
    settle_confirmed(draft, mail, attested, "an operator takes it as sent")
    if draft.ledger.run.state is RunState.REVIEW:
        _go_on(draft, "what was in doubt was decided by an operator")


def _send_again(draft: Draft, mail: Effect) -> None:
    """Let another instance take the mail's place; what became of this one stays unproven."""
    if mail.state is EffectState.UNKNOWN:
        mail = draft.move_effect(
            mail,
            EffectState.CONFLICT,
            EventKind.EFFECT_CONFLICT,
            "an operator sends another; the outcome of this one stays unproven",
            unsettled_since_ms=None,
            overdue=False,
        )
    draft.put_effect(mail.model_copy(update={"superseded": True}))
    _go_on(draft, "what was in doubt was decided by an operator")
