"""What the rules look at when they say what an operator may do."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from ledger.contract import LookUp, ProviderContract
from ledger.effect import Effect
from ledger.gone import is_gone
from ledger.instance import current_effect
from ledger.offer import Consequence
from ledger.run import RunLedger
from ledger.transitions import UNSETTLED_EFFECT_STATES, EffectState
from ledger.validity import VALID_UNTIL, has_ended
from ledger.versions import Versions
from ledger.workflow import Operation, WorkflowDefinition

UNDONE = "What was done is taken back: the run can be closed, and does not go on."
OUTLIVED = "What is left to give has ended meanwhile: close the run, and it can be asked for anew."
RETIRED = "The run's version is no longer deployed: nothing can go on by its rules."

CUSTOMER_DIRECTORY = "customer_directory"
"""Who owns customers' addresses. Read before every mail: a mail service knows no customer."""

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
            if found.state in LOOKABLE_STATES
            and (self._can_be_read(found.provider) or self._may_have_died(found))
        )

    def _may_have_died(self, effect: Effect) -> bool:
        return effect.state is EffectState.ATTEMPTING and not self.is_gone(effect.provider)

    def is_gone(self, provider: str) -> bool:
        """Return whether the provider is no longer registered."""
        return is_gone(self.contracts(provider))

    def gone(self, operations: Iterable[Operation], definition: WorkflowDefinition) -> list[str]:
        """Return the providers that are gone and without which these writes cannot be made.

        What is not settled at one of them stands in the way of every write.
        """
        made = tuple(operations)
        rests_on = frozenset[str]().union(*(found.rests_on for found in made))
        needed = {
            *(found.provider for found in made),
            *(found.provider for found in definition.operations if found.checkpoint in rests_on),
            *(found.provider for found in self.ledger.effects if found.state in LOOKABLE_STATES),
        }
        return sorted(filter(self.is_gone, needed))

    def _can_be_read(self, provider: str) -> bool:
        return self.contracts(provider).look_up is not LookUp.NONE

    def what_follows(
        self,
        operations: Iterable[Operation],
        words: str,
        *,
        definition: WorkflowDefinition | None = None,
        looked_up: Iterable[str] = (),
    ) -> Consequence:
        """Return the consequence of letting these writes be made, all of it counted by them.

        ``looked_up`` are providers that are looked up in any case, as far as they can be.
        """
        made = tuple(operations)
        asked = set(filter(self._can_be_read, looked_up))
        asked.update(self._reads(made, definition or self.definition))
        return Consequence(
            reads=tuple(sorted(asked)),
            writes=tuple(found.label for found in made),
            moves_money=any(found.moves_money for found in made),
            words=words,
        )

    def _reads(
        self, operations: Iterable[Operation], definition: WorkflowDefinition
    ) -> Iterator[str]:
        """Yield who is asked before these writes and after: the owners of their targets, of what
        they rest on, and of a mail's address."""
        for operation in operations:
            rests_on = {
                found.provider
                for found in definition.operations
                if found.checkpoint in operation.rests_on
            }
            yield from filter(self._can_be_read, {operation.provider, *rests_on})
            if self.contracts(operation.provider).personal_fields:
                yield CUSTOMER_DIRECTORY

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
        return self._left if definition is None else self._left_of(definition)

    @cached_property
    def _left(self) -> tuple[Operation, ...]:
        return self._left_of(self.definition)

    def _left_of(self, definition: WorkflowDefinition) -> tuple[Operation, ...]:
        return tuple(
            operation
            for operation in definition.own_operations
            if (effect := current_effect(self.ledger, operation)) is None
            or effect.state is not EffectState.CONFIRMED
        )
