"""What the rules look at when they say what an operator may do."""

from collections.abc import Callable
from dataclasses import dataclass

from ledger.contract import LookUp, ProviderContract
from ledger.effect import Effect
from ledger.instance import current_effect
from ledger.run import RunLedger
from ledger.transitions import UNSETTLED_EFFECT_STATES, EffectState
from ledger.validity import VALID_UNTIL, has_ended
from ledger.versions import Versions
from ledger.workflow import Operation, WorkflowDefinition

UNDONE = "What was done is taken back: the run can be closed, and does not go on."
OUTLIVED = "What is left to give has ended meanwhile: close the run, and it can be asked for anew."
RETIRED = "The run's version is no longer deployed: nothing can go on by its rules."

# States in which looking again may settle something.
LOOKABLE_STATES = UNSETTLED_EFFECT_STATES | {EffectState.CONFLICT, EffectState.CONTRADICTED}


@dataclass(frozen=True)
class Situation:
    """A run at the moment of the question, with the contracts of its providers."""

    definition: WorkflowDefinition
    ledger: RunLedger
    contracts: Callable[[str], ProviderContract]
    now_ms: int
    versions: Versions | None = None
    """What the run may be moved to; None where that is not known."""

    def lookable(self) -> tuple[Effect, ...]:
        """Return the effects about which a provider can be asked."""
        return tuple(
            found
            for found in self.ledger.effects
            if found.state is EffectState.ATTEMPTING
            or (
                found.state in LOOKABLE_STATES
                and self.contracts(found.provider).look_up is not LookUp.NONE
            )
        )

    def has_outlived(self) -> bool:
        """Return whether what is left to give has ended, by the time until which it was proven."""
        return any(
            name == VALID_UNTIL and has_ended({name: proof.value(field)}, self.now_ms)
            for operation in self.remaining()
            for name, checkpoint, field in operation.evidence_fields
            if (proof := self.ledger.proven(checkpoint)) is not None
        )

    def remaining(self, definition: WorkflowDefinition | None = None) -> tuple[Operation, ...]:
        """Return the operations whose effect is not confirmed, of the run's version or another."""
        return tuple(
            operation
            for operation in (definition or self.definition).own_operations
            if (effect := current_effect(self.ledger, operation)) is None
            or effect.state is not EffectState.CONFIRMED
        )
