"""Keep what else was seen at a target: said once, changing no state."""

from ledger.compare import Judgement
from ledger.draft import Draft
from ledger.effect import Effect
from ledger.event import EventKind
from ledger.provider import ProviderRecord

# What a person takes in at a glance. A target with more strangers than this is a case of its own.
# Concerns are a handful of fixed words and are never left out.
MAX_WRITES_OF_OTHERS = 10


def _whose(record: ProviderRecord) -> str:
    return "was not made by us" if record.mark is None else "belongs to another effect"


def note_remarks(draft: Draft, effect: Effect, judgement: Judgement) -> Effect:
    """Return the effect with the concerns and the writes of others that ``judgement`` shows.

    Such a write is not ours to judge: the amount that was approved is never changed for it.
    """
    writes = [
        f"{found.record_id} ({found.provider_status}) at the same target {_whose(found)}"
        for found in judgement.others
        if effect.evidence is None or found.record_id != effect.evidence.record_id
    ]
    room = max(0, MAX_WRITES_OF_OTHERS - len(effect.remarks))
    new = [remark for remark in judgement.concerns if remark not in effect.remarks]
    new += [remark for remark in writes if remark not in effect.remarks][:room]
    if not new:
        return effect
    effect = effect.model_copy(update={"remarks": (*effect.remarks, *new)})
    draft.put_effect(effect)
    for remark in new:
        draft.note(
            EventKind.REMARK_NOTED,
            remark,
            subject=effect.effect_id,
            prior=effect.state,
            state=effect.state,
        )
    return effect
