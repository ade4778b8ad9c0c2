"""What an operator may do about a run."""

from ledger.authorise import approval_payload
from ledger.instance import is_stuck
from ledger.offer import Consequence, Offer, RecoveryAction, make_offer
from ledger.projection import last_verified
from ledger.situation import OUTLIVED, RETIRED, UNDONE, Situation
from ledger.transitions import EffectState, RunState


def reconcile(situation: Situation) -> Offer:
    """Offer to ask the providers about what is not settled."""
    lookable = situation.lookable()
    refused = ""
    if not situation.ledger.run.is_open:
        refused = "The run has ended."
    elif not lookable:
        refused = "Nothing is unsettled that a provider could be asked about."
    run = situation.ledger.run
    follows = situation.remaining() if run.review_recovers else ()
    goes_on = "Sends nothing, and leaves it to you to let the run go on."
    if run.state is not RunState.REVIEW:
        goes_on = "Sends nothing; the run goes on as it does without you."
    elif follows:
        goes_on = (
            "The run is in review only because that is overdue: once it is settled, the run goes "
            "on by itself."
        )
    return make_offer(
        RecoveryAction.RECONCILE,
        "Reconcile provider state",
        refused,
        situation.what_follows(
            follows,
            f"Asks the provider what it holds and writes the answer down. {goes_on}",
            looked_up=(found.provider for found in lookable),
        ),
    )


def resume(situation: Situation) -> Offer:
    """Offer to let the run go on from its last verified checkpoint."""
    ledger = situation.ledger
    start = last_verified(situation.definition, ledger) or "the beginning"
    return make_offer(
        RecoveryAction.RESUME,
        f"Resume from {start}",
        _no_resume(situation),
        situation.what_follows(
            situation.remaining(),
            "Starts a new execution, which does what is left after checking approval and "
            "authority again. What is confirmed is not done again.",
        ),
    )


def _no_resume(situation: Situation) -> str:
    ledger = situation.ledger
    if ledger.run.state is not RunState.REVIEW:
        return "The run is not in review."
    if situation.definition.retired:
        return RETIRED
    if ledger.undone_effects():
        return UNDONE
    if ledger.unsettled_effects():
        return settle_first(situation)
    if any(is_stuck(ledger, found) for found in ledger.effects):
        return "An effect is refused or in conflict: resuming would meet it again."
    pending = ledger.pending_approval()
    asks = any(found.needs_approval for found in situation.remaining())
    if asks and pending is not None and pending.expired(situation.now_ms):
        return "The customer did not decide in time: request a fresh approval."
    return OUTLIVED if situation.has_outlived() else ""


def settle_first(situation: Situation) -> str:
    """Return what has to be done about an unsettled effect; it may be done already."""
    if situation.lookable():
        return "An effect is unsettled and may be done already: reconcile it first."
    return "Whether the mail went out is in doubt: decide about it first."


def request_approval(situation: Situation) -> Offer:
    """Offer to ask the customer for a new decision."""
    ledger = situation.ledger
    asked = approval_payload(situation.definition, ledger)
    refused = ""
    if ledger.run.state is not RunState.REVIEW:
        refused = "The run is not in review."
    elif situation.definition.retired:
        refused = RETIRED
    elif ledger.undone_effects():
        refused = UNDONE
    elif not asked:
        refused = "Nothing is left that needs the customer's approval."
    elif ledger.unsettled_effects():
        refused = settle_first(situation)
    elif any(
        found.state is not EffectState.REJECTED and is_stuck(ledger, found)
        for found in ledger.effects
    ):
        refused = "An effect is in conflict with the provider's records: reconcile it first."
    return make_offer(
        RecoveryAction.REQUEST_APPROVAL,
        "Request fresh customer approval",
        refused,
        situation.what_follows(
            situation.remaining(),
            "Asks the customer for a new decision on what is left. Nothing is sent before "
            "they approve; once they do, the run goes on.",
        ),
    )


def mark_engineering(situation: Situation) -> Offer:
    """Offer to have an engineer look."""
    run = situation.ledger.run
    refused = ""
    if not run.is_open:
        refused = "The run has ended."
    elif run.engineering:
        refused = "It is marked already."
    return make_offer(
        RecoveryAction.MARK_ENGINEERING,
        "Mark for engineering review",
        refused,
        Consequence(
            reads=(),
            writes=(),
            moves_money=False,
            words="Marks the run for an engineer. Changes nothing else.",
        ),
    )


def close(situation: Situation) -> Offer:
    """Offer to end the run as it stands."""
    ledger = situation.ledger
    refused = ""
    if ledger.run.state is not RunState.REVIEW:
        refused = "The run is not in review."
    elif any(
        found.state is EffectState.ATTEMPTING and found.claim_is_live(situation.now_ms)
        for found in ledger.effects
    ):
        refused = "A worker is inside a call: look again in a minute."
    open_ended = [found.operation for found in ledger.unsettled_effects()]
    words = (
        "Closes the run as it is. What is confirmed stays; nothing more is sent. A record that is "
        "found or taken back later brings it back to review."
    )
    if open_ended:
        words += f" The outcome of {', '.join(open_ended)} stays unproven."
    return make_offer(
        RecoveryAction.CLOSE,
        "Close without further action",
        refused,
        Consequence(reads=(), writes=(), moves_money=False, words=words),
    )
