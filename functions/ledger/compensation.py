"""When an effect may be taken back: as long as what was to follow it is refused for good."""

from ledger.compare import Verdict, judge
from ledger.effect import Effect
from ledger.errors import ReviewRequired
from ledger.instance import is_stuck
from ledger.ports import Ports
from ledger.recheck import find
from ledger.run import RunLedger
from ledger.transitions import EffectState
from ledger.workflow import WorkflowDefinition


def no_reason_to_undo(definition: WorkflowDefinition, ledger: RunLedger, effect_id: str) -> str:
    """Return why the effect must not be taken back; empty when it may.

    Only writes that the customer approved are a reason: a mail that was refused takes nothing from
    what they asked for.
    """
    effect = ledger.effect(effect_id)
    if effect is None or effect.state is not EffectState.CONFIRMED:
        return "What would be taken back is not confirmed."
    order = [stage.operation for stage in definition.stages]
    later = set(order[order.index(effect.operation) + 1 :])
    decided = {found.name for found in definition.approved_operations} & later
    follow = [found for found in ledger.effects if found.operation in decided]
    without_effect = (EffectState.REJECTED, EffectState.PLANNED)
    for found in follow:
        if found.state not in without_effect and not found.superseded:
            return f"What was to follow it is {found.state}: {found.operation}."
    refused = [found for found in follow if found.state is EffectState.REJECTED]
    if any(is_stuck(ledger, found) for found in refused):
        return ""
    return "Nothing that was to follow it was refused for good."


def check_still_ours(ports: Ports, ledger: RunLedger, counter: Effect) -> None:
    """Return when the record that ``counter`` changes is as the effect left it that it takes back.

    A record of which there is only one may be equal and have been written since, by another run:
    taking it back would undo what that has done.

    Raises ReviewRequired when it does not carry that effect's mark, ProviderUnavailable when it
    could not be read.
    """
    if counter.compensates is None:
        return
    taken_back = ledger.require_effect(counter.compensates)
    findings = find(ports, ledger.run.run_id, taken_back)
    if findings is None or judge(taken_back, findings).verdict is not Verdict.MATCH:
        raise ReviewRequired(
            f"{counter.operation}: the record no longer carries the mark of "
            f"{taken_back.operation}. Somebody may have written to it since; nothing was sent."
        )
