"""The ledger's events in plain words, for somebody who sees them for the first time."""

from collections.abc import Mapping

from ledger.event import Event, EventKind

_OPERATIONS: Mapping[str, str] = {"cancel_renewal": "end of renewal"}

# Where the reason adds to these words, or the kind is rare, the event's own words are shown.
_SENTENCES: Mapping[EventKind, str] = {
    EventKind.RUN_OPENED: "the run is opened",
    EventKind.EXECUTION_RESUMED: "the state machine asks where the run stands",
    EventKind.CHECKPOINT_REACHED: "checkpoint proven: {name}",
    EventKind.APPROVAL_REQUESTED: "the customer is asked for one exact payload; the run waits",
    EventKind.APPROVAL_GRANTED: "the customer's yes to exactly that is on record; the run goes on",
    EventKind.EFFECT_PLANNED: "{name}: planned",
    EventKind.EFFECT_CLAIMED: "{name}: a worker claims it; request and key are now frozen",
    EventKind.EFFECT_ACCEPTED: "{name}: the provider answers with its record",
    EventKind.RUN_COMPLETED: "the run is completed: every checkpoint is proven",
}
_REASONS: Mapping[str, str] = {
    "found with our mark, equal in every approved field": (
        "the provider's record has our id and is as approved"
    ),
    "acceptance is the provider's last word": "accepted for delivery, which is what SES answers",
    "no answer of its worker is on record": "its worker left no answer",
}


def in_words(event: Event, name: str) -> str:
    """One sentence; `name` is that of the event's subject, empty where it says nothing."""
    name = _OPERATIONS.get(name, name.replace("_", " "))
    sentence = next((words for kind, words in _SENTENCES.items() if kind == event.kind), None)
    if sentence is not None:
        return sentence.format(name=name)
    reason = _REASONS.get(event.reason, event.reason)
    if event.kind in (EventKind.EFFECT_CONFIRMED, EventKind.EFFECT_UNKNOWN) and name:
        return f"{name}: {event.state}; {reason}"
    kind = str(event.kind).replace("_", " ")
    moved = f"{event.prior_state} → {event.state}" if event.prior_state and event.state else ""
    return "  ".join(part for part in (f"{kind}: {name}" if name else kind, moved, reason) if part)
