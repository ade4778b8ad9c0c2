"""What an operator may do now, each named by its consequence, each refusal with its reason."""

from collections.abc import Callable

from ledger import counter_actions, mail_actions, run_actions, version_actions
from ledger.contract import LookUp, ProviderContract
from ledger.offer import Offer
from ledger.run import RunLedger
from ledger.situation import Situation
from ledger.transitions import EffectState
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
        if contracts(found.provider).look_up is LookUp.NONE
        and found.state is not EffectState.CONFIRMED
    ]
    return (
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
