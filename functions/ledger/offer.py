"""An offer: one action, its consequence, and why it is not allowed when it is not."""

from enum import StrEnum

from ledger.record import Record


class RecoveryAction(StrEnum):
    """The actions, by what they do."""

    RECONCILE = "reconcile_provider_state"
    RESUME = "resume_from_checkpoint"
    REQUEST_APPROVAL = "request_fresh_customer_approval"
    MARK_ENGINEERING = "mark_for_engineering_review"
    CLOSE = "close_without_further_action"
    TREAT_AS_SENT = "treat_as_sent"
    SEND_AGAIN = "send_again"
    MOVE = "move_to_registered_version"
    OFFER_COUNTER = "offer_counter_effect"


class Consequence(Record):
    """What an action does to the outside."""

    reads: tuple[str, ...]
    """Who is read: providers, and the customer directory, before and after what may follow."""

    writes: tuple[str, ...]
    """Labels of the outside writes that may follow."""

    moves_money: bool
    words: str


class Offer(Record):
    """One action, allowed or not, and why not."""

    action: RecoveryAction
    label: str
    allowed: bool
    refused_because: str
    consequence: Consequence
    effect_id: str | None = None
    """The effect that the action is about; None for actions about the run."""


def make_offer(
    action: RecoveryAction,
    label: str,
    refused_because: str,
    consequence: Consequence,
    effect_id: str | None = None,
) -> Offer:
    """Return the offer; it is allowed when nothing is given that speaks against it."""
    return Offer(
        action=action,
        label=label,
        allowed=not refused_because,
        refused_because=refused_because,
        consequence=consequence,
        effect_id=effect_id,
    )


def find_offer(
    found: tuple[Offer, ...], action: RecoveryAction, effect_id: str | None
) -> Offer | None:
    """Return the offer of ``action`` about ``effect_id``, None when there is none."""
    return {(offer.action, offer.effect_id): offer for offer in found}.get((action, effect_id))
