"""Put on record that a person has to look, with what they need to see."""

from ledger.compare import judge
from ledger.draft import Draft
from ledger.effect import Effect
from ledger.errors import ProviderUnavailable
from ledger.idempotency import effect_id_for
from ledger.instance import instance_of
from ledger.plan import note_planned
from ledger.ports import Ports
from ledger.provider import ProviderRecord
from ledger.recheck import find
from ledger.run import RunLedger
from ledger.settle import evidence_of
from ledger.task import Task
from ledger.transitions import RunState
from ledger.update import update
from ledger.workflow import Operation


def record_review(
    ports: Ports, task: Task, operation: Operation, seen: RunLedger, reason: str
) -> None:
    """Send the run to review for what a stage concluded from ``seen``, unless that is outdated."""

    def decide(draft: Draft) -> None:
        run_id = draft.ledger.run.run_id
        effect_id = effect_id_for(run_id, operation.name, instance_of(seen, operation))
        if _still_speaks(draft, task, effect_id, seen):
            draft.send_to_review(reason)

    update(ports, task.run_id, task.actor, decide)


def review_what_stands_in_the_way(
    ports: Ports, task: Task, seen: RunLedger, planned: Effect, reason: str
) -> None:
    """Send the run to review with the records of others at the target, if there are any.

    A colleague's refund from the provider's own dashboard is the usual reason why nothing is left
    to refund, and a person can only decide on what they see.
    """
    others = _others_at_the_target(ports, task, planned)

    def decide(draft: Draft) -> None:
        stored = draft.ledger.effect(planned.effect_id)
        nothing_to_show = not others and not (stored and stored.candidates)
        if nothing_to_show or not _still_speaks(draft, task, planned.effect_id, seen):
            return
        candidates = tuple(evidence_of(planned, found, draft.now_ms) for found in others)
        shown = (stored or planned).model_copy(update={"candidates": candidates})
        if stored is None:
            note_planned(draft, shown)
        draft.put_effect(shown)
        draft.send_to_review(reason)

    update(ports, task.run_id, task.actor, decide)


def _others_at_the_target(ports: Ports, task: Task, planned: Effect) -> tuple[ProviderRecord, ...]:
    try:
        findings = find(ports, task.run_id, planned)
    except ProviderUnavailable:
        # The refusal stands without its explanation: the caller asks for the review.
        return ()
    return judge(planned, findings).others if findings else ()


def _still_speaks(draft: Draft, task: Task, effect_id: str, seen: RunLedger) -> bool:
    """Return whether what this worker concluded from ``seen`` still speaks about the run.

    A worker that was frozen must not judge by what it read before a duplicate went on: what stands
    in its way may be our own effect.
    """
    run = draft.ledger.run
    overtaken = draft.ledger.effect(effect_id) != seen.effect(effect_id)
    owned = run.epoch == task.epoch and run.is_open
    return owned and not overtaken and run.state is not RunState.REVIEW
