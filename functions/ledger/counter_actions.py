"""What an operator may offer when a later write was refused: to take an earlier one back."""

from ledger.compensation import no_reason_to_undo
from ledger.effect import Effect
from ledger.instance import current_effect, is_stuck
from ledger.offer import Offer, RecoveryAction, make_offer
from ledger.run_actions import settle_first
from ledger.situation import Situation
from ledger.transitions import EffectState, RunState
from ledger.workflow import Compensation, Operation


def counters(situation: Situation) -> tuple[Offer, ...]:
    """Offer each registered counter-effect of what is confirmed, while the run is open."""
    found = []
    for counter in situation.definition.counter_operations:
        taken_back = counter.compensates
        if taken_back is None or not situation.ledger.run.is_open:
            continue
        operation = situation.definition.operation(taken_back.operation)
        effect = current_effect(situation.ledger, operation)
        if effect is not None and effect.state is EffectState.CONFIRMED:
            found.append(_offer(situation, counter, taken_back, effect))
    return tuple(found)


def _offer(
    situation: Situation, counter: Operation, taken_back: Compensation, effect: Effect
) -> Offer:
    label = situation.definition.operation(taken_back.operation).label
    return make_offer(
        RecoveryAction.OFFER_COUNTER,
        f"Offer to {taken_back.offer}",
        _no_counter(situation, effect),
        situation.what_follows(
            (counter,),
            f"Asks the customer to approve exactly this: to {taken_back.offer}. Nothing is "
            "written before they approve. Once they do, it is written once and read back; "
            f"the {label[:1].lower()}{label[1:]} no longer stands then, and the run stays in "
            "review for you to close.",
        ),
        effect.effect_id,
    )


def _no_counter(situation: Situation, effect: Effect) -> str:
    ledger = situation.ledger
    if ledger.run.state is not RunState.REVIEW:
        return "The run is not in review."
    if ledger.is_undone(effect.effect_id):
        return "It is taken back already."
    if ledger.unsettled_effects():
        return settle_first(situation)
    if any(
        found.state is not EffectState.REJECTED and is_stuck(ledger, found)
        for found in ledger.effects
    ):
        return "An effect is in conflict with the provider's records: reconcile it first."
    return no_reason_to_undo(situation.definition, ledger, effect.effect_id)
