"""Records from plans: a plan is a few small choices, so that it shrinks and reads well."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from ledger.record import Record, Scalar
from ledger.transitions import EffectState
from tests.builders import REFUND_BOUND, a_checkpoint, an_approval, an_attempt, an_effect, evidence
from tests.contract.differential.brief import Brief


class Kind(StrEnum):
    """The kinds of record that a change may hold any number of."""

    EFFECT = "effect"
    APPROVAL = "approval"
    CHECKPOINT = "checkpoint"


@dataclass(frozen=True, repr=False)
class Filling(Brief):
    """What a record carries in every place that has room for it."""

    text: str = ""
    number: int = 0
    extra: Mapping[str, object] = field(default_factory=dict)
    """Fields of newer code."""

    @property
    def fields(self) -> dict[str, Scalar]:
        """Return named values; the text is also a name."""
        return {**REFUND_BOUND, f"named {self.text}": self.text, "number": self.number}


@dataclass(frozen=True)
class Plan:
    """One record: its kind, its id and what it carries."""

    kind: Kind
    name: str
    filling: Filling

    def record(self) -> Record:
        """Return the record."""
        return _MAKERS[self.kind](self.name, self.filling)


def _effect(name: str, filling: Filling) -> Record:
    read = evidence(fields=filling.fields, **filling.extra)
    return an_effect(
        effect_id=name,
        state=EffectState.CONFIRMED,
        bound=filling.fields,
        attempts=(an_attempt(fault=filling.text, **filling.extra),),
        absence_reads_at_ms=(1, 2),
        evidence=read,
        candidates=(read, evidence()),
        **filling.extra,
    )


def _approval(name: str, filling: Filling) -> Record:
    return an_approval(
        approval_id=name,
        payload={"issue_refund": filling.fields, f"named {filling.text}": {}},
        spent_on={f"named {filling.text}": filling.text},
        decided_by=filling.text or None,
        **filling.extra,
    )


def _checkpoint(name: str, filling: Filling) -> Record:
    read = evidence(fields=filling.fields, **filling.extra)
    return a_checkpoint(name=name, evidence=read, effect_id=filling.text or None, **filling.extra)


_MAKERS: Mapping[Kind, Callable[[str, Filling], Record]] = {
    Kind.EFFECT: _effect,
    Kind.APPROVAL: _approval,
    Kind.CHECKPOINT: _checkpoint,
}
