"""What the customer may be told. Nothing unproven is promised."""

from ledger.projection import ApprovalFacts, EffectFacts, RunFacts
from ledger.record import Record, Scalar
from ledger.transitions import DOUBTFUL_EFFECT_STATES, EffectState, RunState
from ledger.validity import told_moment

RUN_WORDS = {
    RunState.ACTIVE: "We are working on your request.",
    RunState.AWAITING_APPROVAL: "We need your approval of exactly what is shown here.",
    RunState.REVIEW: "A person is looking at your request.",
    RunState.COMPLETED: "Your request is completed.",
    RunState.CLOSED: "Your request is closed. What was done, if anything, is listed here.",
}
EFFECT_WORDS = {
    EffectState.PLANNED: "not started",
    EffectState.ATTEMPTING: "in progress",
    EffectState.UNKNOWN: "being checked with the provider",
    EffectState.ACCEPTED: "accepted by the provider, not finished yet",
    EffectState.CONFIRMED: "confirmed",
    EffectState.REJECTED: "refused by the provider",
    EffectState.CONFLICT: "being reviewed",
    EffectState.CONTRADICTED: "being reviewed",
}
# Once a run is closed nobody looks any more.
UNPROVEN_WORDS = "not proven"

# Of what was given for a time, said beside any word that it was given.
UNTIL_WORDS = "works until {moment}"
ENDED_WORDS = "ended on {moment}, as it was meant to; ask again to get a new one"

UNDONE_WORDS = "confirmed, and taken back since with your approval"
MAY_BE_UNDONE_WORDS = "was confirmed, and whether it was taken back since is not proven"
ATTESTED_WORDS = "taken as sent by an operator"


class ApprovalStatus(Record):
    """What the customer is asked; ``digest`` must come back with the answer."""

    approval_id: str
    digest: str
    payload: dict[str, dict[str, Scalar]]
    expires_at_ms: int


class EffectStatus(Record):
    """One outside write, in words that hold."""

    operation: str
    status: str
    record_id: str | None
    fields: dict[str, Scalar]


class CustomerStatus(Record):
    """A run as its customer may see it."""

    run_id: str
    workflow: str
    status: RunState
    message: str
    proven: tuple[str, ...]
    """The claims that hold now, in the order of the stages."""

    effects: tuple[EffectStatus, ...]
    approval: ApprovalStatus | None


def customer_status(facts: RunFacts) -> CustomerStatus:
    """Return the customer's view of a run."""
    waits = facts.state is RunState.AWAITING_APPROVAL
    return CustomerStatus(
        run_id=facts.run_id,
        workflow=facts.workflow,
        status=facts.state,
        message=RUN_WORDS[facts.state],
        proven=facts.claims,
        effects=tuple(_effect_status(facts, effect) for effect in facts.counting_effects),
        approval=_approval_status(facts.approval) if waits and facts.approval else None,
    )


def _effect_status(facts: RunFacts, effect: EffectFacts) -> EffectStatus:
    confirmed = effect.state is EffectState.CONFIRMED
    given_up = not facts.is_open and effect.state in DOUBTFUL_EFFECT_STATES
    status = UNPROVEN_WORDS if given_up else EFFECT_WORDS[effect.state]
    if effect.undone:
        status = UNDONE_WORDS
    elif effect.may_be_undone:
        status = MAY_BE_UNDONE_WORDS
    return EffectStatus(
        operation=effect.operation,
        status=_with_end(effect, ATTESTED_WORDS if effect.attested else status),
        record_id=effect.record_id if confirmed and not effect.attested else None,
        fields=effect.proven_fields,
    )


def _with_end(effect: EffectFacts, status: str) -> str:
    """Return what is told of an effect, with its end when it gave something for a time."""
    if effect.valid_until_ms is None or effect.state is not EffectState.CONFIRMED:
        return status
    words = ENDED_WORDS if effect.ended else UNTIL_WORDS
    return f"{status}; {words.format(moment=told_moment(effect.valid_until_ms))}"


def _approval_status(asked: ApprovalFacts) -> ApprovalStatus:
    return ApprovalStatus(
        approval_id=asked.approval_id,
        digest=asked.digest,
        payload=asked.payload,
        expires_at_ms=asked.expires_at_ms,
    )
