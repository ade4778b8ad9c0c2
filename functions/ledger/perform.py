"""The write protocol: authorise, claim, call, read back, settle.

Between any two of these steps the process may die. Each step leaves the ledger such that a later
reader concludes no more than is proven:

* before the claim nothing was sent;
* after the claim the effect is ``attempting``, and once its claim has lapsed ``unknown``;
* after the settlement it is what the provider's own record says.
"""

from ledger.answer import keep_late_result, settle_fault, settle_record, use_late_fault
from ledger.authorise import check_consequence, read_authority
from ledger.claim import LEDGER_WRITE_MARGIN_SECONDS, check_can_begin, claim
from ledger.compare import Judgement, judge
from ledger.compensation import check_still_ours
from ledger.contract import ErrorClass, FaultKind, ProviderContract
from ledger.draft import Draft
from ledger.effect import Effect
from ledger.errors import (
    EffectPending,
    EffectUnknown,
    InvariantBroken,
    ProviderUnavailable,
    ReviewRequired,
    TooLittleTime,
)
from ledger.instance import check_no_other, is_done
from ledger.life import showing_life
from ledger.pace import check_pace
from ledger.plan import existing_or_planned
from ledger.ports import Ports, TimeLeft
from ledger.provider import ProviderCall, ProviderFault, ProviderRecord
from ledger.recheck import check_evidence_holds, check_still_absent
from ledger.review import record_review, review_what_stands_in_the_way
from ledger.run import RunLedger
from ledger.settle import check_proves
from ledger.short import short_text
from ledger.task import Task, check_may_act, check_version
from ledger.transitions import EffectState
from ledger.update import load, update
from ledger.workflow import Operation, WorkflowDefinition

type Answer = ProviderRecord | ProviderFault


def perform(
    ports: Ports,
    time_left: TimeLeft,
    definition: WorkflowDefinition,
    task: Task,
    operation_name: str,
) -> Effect:
    """Return the confirmed effect of an operation, making the write at most once.

    Called again after it succeeded, it returns the same effect and sends nothing.

    Raises:
        ApprovalNeeded: no valid approval covers exactly this write.
        EffectUnknown, EffectPending: reconcile first.
        ReviewRequired: a person has to look.
        StaleExecution: a newer execution owns the run.
        RetryLater: nothing was begun; the same call may be repeated.
    """
    operation = definition.operation(operation_name)
    seen = load(ports, task.run_id)
    check_version(seen.run, definition.version)
    try:
        with showing_life(ports, task):
            effect, ledger = _performed(ports, time_left, definition, operation, task, seen)
            check_proves(effect)
            _check_claim_holds(definition, ledger, effect)
            return effect
    except ReviewRequired as required:
        # A stage that asks for a review which is not on record would be sent straight back here.
        record_review(ports, task, operation, seen, str(required))
        raise


def perform_stage(
    ports: Ports, time_left: TimeLeft, definition: WorkflowDefinition, task: Task, stage: str
) -> Effect:
    """Return the confirmed effect of the operation that the definition gives to ``stage``.

    Raises as ``perform``.
    """
    return perform(ports, time_left, definition, task, definition.stage(stage).write)


def _check_claim_holds(definition: WorkflowDefinition, ledger: RunLedger, effect: Effect) -> None:
    """Raise ReviewRequired while the stage of a confirmed effect is not done all the same.

    Told of success, the execution would be led straight back to the stage, for ever.
    """
    for stage in definition.stages:
        if stage.operation == effect.operation and not is_done(definition, ledger, stage):
            raise ReviewRequired(
                f"{effect.operation} is confirmed, and {stage.checkpoint} is not proven by it."
            )


def _performed(
    ports: Ports,
    time_left: TimeLeft,
    definition: WorkflowDefinition,
    operation: Operation,
    task: Task,
    ledger: RunLedger,
) -> tuple[Effect, RunLedger]:
    """Return the confirmed effect and the run as it was when it was seen to be confirmed."""
    effect = existing_or_planned(ports, definition, operation, ledger)
    if effect.state is EffectState.CONFIRMED:
        return effect, ledger
    check_may_act(ledger, task)
    check_no_other(ledger, operation, effect)
    check_can_begin(effect, ports.clock.now_ms())
    check_pace(effect, ports.clock.now_ms())
    contract = ports.providers[operation.provider].contract
    check_still_absent(ports, ledger, effect, task.actor)
    check_evidence_holds(ports, operation, ledger, task.actor)
    check_still_ours(ports, ledger, effect)
    _check_time(time_left, contract)
    personal = _personal_fields(ports, task, contract)
    _check_frozen(ports, effect)
    checked_at_ms = ports.clock.now_ms()
    authority = read_authority(ports, effect.provider, effect.bound, personal)
    if not authority.allowed:
        reason = f"{operation.name} is not allowed: {short_text(authority.reason)}"
        review_what_stands_in_the_way(ports, task, ledger, effect, reason)
        raise ReviewRequired(reason)
    claimed = claim(ports, definition, operation, task, effect, authority.snapshot)
    if claimed.state is EffectState.CONFIRMED:
        return claimed, load(ports, task.run_id)
    call = ProviderCall(
        run_id=task.run_id,
        effect_id=claimed.effect_id,
        idempotency_key=claimed.idempotency_key,
        bound=claimed.bound,
        params=claimed.request.params(),
        personal=personal,
    )
    if _begins_too_late(ports, time_left, contract, claimed, checked_at_ms):
        answer: Answer = ProviderFault(FaultKind.NEVER_SENT)
    else:
        answer = _call(ports, claimed, call)
    judgement = _read_back(ports, contract, claimed, call, answer)
    settled = _settle(ports, contract, task, claimed, answer, judgement)
    return _meaning(settled.require_effect(claimed.effect_id)), settled


def _check_frozen(ports: Ports, effect: Effect) -> None:
    """Raise ReviewRequired when the frozen bytes would do something else than was approved."""
    try:
        consequence = ports.providers[effect.provider].consequence(effect.request.params())
    except InvariantBroken as broken:
        reason = f"{effect.operation}: {broken} Nothing was sent."
        raise ReviewRequired(reason) from broken
    check_consequence(effect, consequence)


def _check_time(time_left: TimeLeft, contract: ProviderContract) -> None:
    # Authority read, call and read-back may each take the full timeout.
    needed_ms = (3 * contract.call_timeout_seconds + LEDGER_WRITE_MARGIN_SECONDS) * 1000
    if time_left.remaining_ms() < needed_ms:
        raise TooLittleTime(
            f"{time_left.remaining_ms()} ms are left and {needed_ms} ms may be needed to call "
            f"{contract.provider} and write down the answer; nothing was sent."
        )


def _personal_fields(ports: Ports, task: Task, contract: ProviderContract) -> dict[str, str]:
    if not contract.personal_fields:
        return {}
    stored = ports.store.personal(task.run_id)
    fields = stored.fields if stored else {}
    if any(name not in fields for name in contract.personal_fields):
        raise ReviewRequired(f"{contract.provider} needs personal fields that are erased.")
    return {name: fields[name] for name in contract.personal_fields}


def _begins_too_late(
    ports: Ports,
    time_left: TimeLeft,
    contract: ProviderContract,
    claimed: Effect,
    checked_at_ms: int,
) -> bool:
    """Return whether this worker was held up so long that the call must not be made any more.

    The claim could lapse inside the call, and somebody else begin beside us; the invocation could
    end before the answer is written down; or the authority that was read is no longer "now".
    """
    now_ms = ports.clock.now_ms()
    call_ms = contract.call_timeout_seconds * 1000
    margin_ms = LEDGER_WRITE_MARGIN_SECONDS * 1000
    return (
        now_ms + call_ms > claimed.attempts[-1].lease_until_ms
        or time_left.remaining_ms() < call_ms + margin_ms
        or now_ms - checked_at_ms > call_ms + margin_ms
    )


def _call(ports: Ports, claimed: Effect, call: ProviderCall) -> Answer:
    try:
        return ports.providers[claimed.provider].call(call)
    except ProviderFault as fault:
        return fault


def _read_back(
    ports: Ports, contract: ProviderContract, effect: Effect, call: ProviderCall, answer: Answer
) -> Judgement | None:
    """Return what a separate read says about a write that was accepted or refused for good.

    None when none could be made. A refusal is read back for what may explain it.
    """
    refused = isinstance(answer, ProviderFault) and _is_refusal(contract, answer)
    if not contract.confirmed_by_read or (isinstance(answer, ProviderFault) and not refused):
        return None
    try:
        return judge(effect, ports.providers[effect.provider].look_up(call))
    except ProviderFault:
        # The acceptance is kept; reconcile makes the read that failed here.
        return None


def _is_refusal(contract: ProviderContract, fault: ProviderFault) -> bool:
    return contract.classify(fault.kind, fault.status, fault.code) is ErrorClass.REFUSED


def _settle(
    ports: Ports,
    contract: ProviderContract,
    task: Task,
    claimed: Effect,
    answer: Answer,
    judgement: Judgement | None,
) -> RunLedger:
    """Return the run with the answer written down."""
    attempt = claimed.attempts[-1]

    def decide(draft: Draft) -> None:
        effect = draft.ledger.require_effect(claimed.effect_id)
        holds_claim = (
            effect.state is EffectState.ATTEMPTING
            and effect.attempts[-1].attempt_id == attempt.attempt_id
            and draft.ledger.run.epoch == task.epoch
        )
        match answer:
            case ProviderRecord() if holds_claim:
                settle_record(draft, contract, effect, answer, judgement)
            case ProviderRecord():
                keep_late_result(draft, effect, attempt, answer)
            case ProviderFault() if holds_claim:
                settle_fault(draft, contract, effect, answer, judgement)
            case ProviderFault():
                use_late_fault(draft, contract, effect, attempt, answer)

    return update(ports, task.run_id, task.actor, decide)


def _meaning(effect: Effect) -> Effect:
    """Return the confirmed effect, or raise what its settled state means for the stage."""
    match effect.state:
        case EffectState.CONFIRMED:
            return effect
        case EffectState.ACCEPTED:
            raise EffectPending(f"{effect.operation} is accepted and not yet confirmed.")
        case EffectState.PLANNED:
            raise ProviderUnavailable(f"{effect.operation} never reached {effect.provider}.")
        case EffectState.ATTEMPTING | EffectState.UNKNOWN:
            raise EffectUnknown(f"The answer about {effect.operation} was lost; read first.")
        case _:
            raise ReviewRequired(f"{effect.operation} is {effect.state}; a person has to look.")
