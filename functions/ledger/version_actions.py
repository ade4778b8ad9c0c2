"""What an operator may do about a run's version: have it go on by another."""

from ledger.instance import is_stuck
from ledger.migration import Move, plan_move
from ledger.offer import Consequence, Offer, RecoveryAction, make_offer
from ledger.run_actions import settle_first
from ledger.situation import UNDONE, Situation
from ledger.transitions import RunState
from ledger.versions import WayOn


def move(situation: Situation) -> tuple[Offer, ...]:
    """Offer to move the run to the version that a registered migration leads to.

    Nothing is offered to a run whose own version is there and from which no migration leads.
    """
    version = situation.ledger.run.workflow
    way = situation.versions.way_on(version) if situation.versions else None
    if way is None:
        return (_nowhere(version),) if situation.definition.retired else ()
    plan = plan_move(situation.ledger, way.old, way.new, way.migration.checkpoints)
    return (
        make_offer(
            RecoveryAction.MOVE,
            f"Move to {way.new.version} and resume",
            _no_move(situation, plan),
            _consequence(situation, way, plan),
        ),
    )


def _nowhere(version: str) -> Offer:
    return make_offer(
        RecoveryAction.MOVE,
        "Move to another version and resume",
        f"No migration from {version} to a version that is registered is known.",
        Consequence(reads=(), writes=(), moves_money=False, words="Binds the run to another one."),
    )


def _no_move(situation: Situation, plan: Move) -> str:
    ledger = situation.ledger
    if ledger.run.state is not RunState.REVIEW:
        return "The run is not in review."
    if ledger.undone_effects():
        return UNDONE
    if ledger.unsettled_effects():
        return settle_first(situation)
    if any(is_stuck(ledger, found) for found in ledger.effects):
        return "An effect is refused or in conflict: resuming would meet it again."
    if plan.obstacles:
        return f"What is on record does not fit it: {'; '.join(plan.obstacles)}."
    return ""


def _consequence(situation: Situation, way: WayOn, plan: Move) -> Consequence:
    words = (
        f"Binds the run to {way.new.version} from now on, for good: {way.migration.reason}. "
        "Starts a new execution, which does what is left as that version does it, after checking "
        "approval and authority again. What is confirmed is not done again."
    )
    if plan.left:
        words += f" Not carried over: {', '.join(sorted(plan.left))}."
    if plan.asks_again:
        words += " The customer is asked for a new decision first."
    return situation.what_follows(situation.remaining(way.new), words, definition=way.new)
