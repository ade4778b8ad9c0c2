"""What only a person can decide about a mail: nothing can be asked whether it went out."""

from ledger.effect import Effect
from ledger.offer import Offer, RecoveryAction, make_offer
from ledger.situation import OUTLIVED, RETIRED, UNDONE, Situation
from ledger.transitions import EffectState, RunState

UNDECIDED_MAIL_STATES = frozenset(
    {
        EffectState.UNKNOWN,
        EffectState.REJECTED,
        EffectState.CONFLICT,
        EffectState.CONTRADICTED,
    }
)


def treat_as_sent(situation: Situation, mail: Effect) -> Offer:
    """Offer to take an operator's word that the mail went out."""
    follows = [found for found in situation.remaining() if found.name != mail.operation]
    refused = _no_mail_decision(situation, mail)
    if not refused and mail.state is EffectState.REJECTED:
        refused = "The mail service refused it: it did not go out."
    return make_offer(
        RecoveryAction.TREAT_AS_SENT,
        f"Treat as sent: {_label(situation, mail)}",
        refused,
        situation.what_follows(
            follows,
            "Takes your word that the mail went out, and lets the run go on. If it did not "
            "go out, the customer gets none.",
        ),
        mail.effect_id,
    )


def send_again(situation: Situation, mail: Effect) -> Offer:
    """Offer to send another in the mail's place."""
    return make_offer(
        RecoveryAction.SEND_AGAIN,
        f"Send again: {_label(situation, mail)}",
        _no_mail_decision(situation, mail) or (OUTLIVED if situation.has_outlived() else ""),
        situation.what_follows(
            situation.remaining(),
            "Sends the mail once more, and lets the run go on. The customer may get two.",
        ),
        mail.effect_id,
    )


def _label(situation: Situation, mail: Effect) -> str:
    """Return what people call the mail: a run may send several kinds."""
    labels = {found.name: found.label for found in situation.definition.operations}
    return labels.get(mail.operation, mail.operation)


def _no_mail_decision(situation: Situation, mail: Effect) -> str:
    if situation.ledger.run.state is not RunState.REVIEW:
        return "The run is not in review."
    if situation.definition.retired:
        return RETIRED
    if situation.ledger.undone_effects():
        return UNDONE
    if any(found.compensates and found.unsettled for found in situation.ledger.effects):
        return "Whether something is taken back is in doubt: reconcile it first."
    newest = situation.ledger.newest_effect(mail.operation)
    if mail.superseded or (newest and newest.instance > mail.instance):
        return "Another one has taken its place."
    if mail.state not in UNDECIDED_MAIL_STATES:
        return f"The mail is {mail.state}; there is nothing for a person to decide."
    return ""
