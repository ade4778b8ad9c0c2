"""What an operator may do now, each named by its consequence, each refusal with its reason."""

from collections.abc import Callable

from ledger import counter_actions, mail_actions, run_actions, version_actions
from ledger.contract import LookUp, ProviderContract
from ledger.gone import is_gone
from ledger.offer import Offer, RecoveryAction
from ledger.run import RunLedger
from ledger.situation import Situation
from ledger.transitions import EffectState, RunState
from ledger.versions import Versions
from ledger.workflow import WorkflowDefinition


def offers(
    definition: WorkflowDefinition,
    ledger: RunLedger,
    contracts: Callable[[str], ProviderContract],
    now_ms: int,
    versions: Versions | None = None,
) -> tuple[Offer, ...]:
    """Return every action with its consequence; ``contracts`` gives a provider's by name."""
    situation = Situation(definition, ledger, contracts, now_ms, versions)
    mails = [
        found
        for found in ledger.effects
        if (contract := contracts(found.provider)).look_up is LookUp.NONE
        # Nor is it known whether what went to a provider that is gone was a mail.
        and not is_gone(contract)
        and found.state is not EffectState.CONFIRMED
    ]
    found = (
        run_actions.reconcile(situation),
        run_actions.resume(situation),
        *version_actions.move(situation),
        run_actions.request_approval(situation),
        *counter_actions.counters(situation),
        run_actions.mark_engineering(situation),
        run_actions.close(situation),
        *(mail_actions.treat_as_sent(situation, mail) for mail in mails),
        *(mail_actions.send_again(situation, mail) for mail in mails),
    )
    if ledger.run.state is not RunState.REVIEW:
        return found  # refused already, by what is easier to understand
    return tuple(_without_gone(situation, offer) for offer in found)


def _without_gone(situation: Situation, offer: Offer) -> Offer:
    """Return the offer, refused where it needs a provider that is no longer registered.

    Whatever else speaks against it then, this cannot be mended by whoever looks at the run.
    """
    gone = _gone_for(situation, offer)
    if not gone:
        return offer
    because = (
        f"No longer registered: {', '.join(gone)}. What it holds cannot be looked up, and nothing "
        "that needs it can be done."
    )
    return offer.model_copy(update={"allowed": False, "refused_because": because})


def _gone_for(situation: Situation, offer: Offer) -> list[str]:
    definition = situation.definition
    match offer.action:
        case RecoveryAction.MARK_ENGINEERING | RecoveryAction.CLOSE:
            return []
        case RecoveryAction.RECONCILE:
            # One that can be asked is asked, whatever another one is.
            return [] if situation.lookable() else situation.gone((), definition)
        case RecoveryAction.MOVE:
            way = situation.versions and situation.versions.way_on(situation.ledger.run.workflow)
            new = way.new if way else definition
            return situation.gone(situation.remaining(new), new)
        case RecoveryAction.OFFER_COUNTER:
            undone = situation.ledger.require_effect(offer.effect_id or "").operation
            counters = [
                operation
                for operation in definition.counter_operations
                if operation.compensates and operation.compensates.operation == undone
            ]
            return situation.gone(counters, definition)
        case _:
            return situation.gone(situation.remaining(), definition)
