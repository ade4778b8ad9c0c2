"""What an operator may do now, each named by its consequence, each refusal with its reason."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from ledger.contract import LookUp, ProviderContract
from ledger.effect import Effect
from ledger.instance import is_stuck
from ledger.projection import last_verified
from ledger.record import Record
from ledger.run import RunLedger
from ledger.transitions import UNSETTLED_EFFECT_STATES, EffectState, RunState
from ledger.workflow import Operation, WorkflowDefinition

# States in which looking again may settle something.
LOOKABLE_STATES = UNSETTLED_EFFECT_STATES | {EffectState.CONFLICT, EffectState.CONTRADICTED}


# What only a person can decide about a mail.
UNDECIDED_MAIL_STATES = frozenset(
    {
        EffectState.UNKNOWN,
        EffectState.REJECTED,
        EffectState.CONFLICT,
        EffectState.CONTRADICTED,
    }
)


class RecoveryAction(StrEnum):
    """The actions, by what they do."""

    RECONCILE = "reconcile_provider_state"
    RESUME = "resume_from_checkpoint"
    REQUEST_APPROVAL = "request_fresh_customer_approval"
    MARK_ENGINEERING = "mark_for_engineering_review"
    CLOSE = "close_without_further_action"
    TREAT_AS_SENT = "treat_as_sent"
    SEND_AGAIN = "send_again"


class Consequence(Record):
    """What an action does to the outside."""

    reads: tuple[str, ...]
    """Providers that are read."""

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
    """The mail that the action is about; None for actions about the run."""


@dataclass(frozen=True)
class _Situation:
    """What the rules look at."""

    definition: WorkflowDefinition
    ledger: RunLedger
    contracts: Callable[[str], ProviderContract]
    now_ms: int

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

    def remaining(self) -> tuple[Operation, ...]:
        """Return the operations whose effect is not confirmed."""
        return tuple(
            operation
            for operation in self.definition.operations
            if (effect := self.ledger.newest_effect(operation.name)) is None
            or effect.state is not EffectState.CONFIRMED
        )


def offers(
    definition: WorkflowDefinition,
    ledger: RunLedger,
    contracts: Callable[[str], ProviderContract],
    now_ms: int,
) -> tuple[Offer, ...]:
    """Return every action with its consequence; ``contracts`` gives a provider's by name."""
    situation = _Situation(definition, ledger, contracts, now_ms)
    mails = [
        found
        for found in ledger.effects
        if contracts(found.provider).look_up is LookUp.NONE
        and found.state is not EffectState.CONFIRMED
    ]
    return (
        _reconcile(situation),
        _resume(situation),
        _request_approval(situation),
        _mark_engineering(situation),
        _close(situation),
        *(_treat_as_sent(situation, mail) for mail in mails),
        *(_send_again(situation, mail) for mail in mails),
    )


def _offer(
    action: RecoveryAction,
    label: str,
    refused_because: str,
    consequence: Consequence,
    effect_id: str | None = None,
) -> Offer:
    return Offer(
        action=action,
        label=label,
        allowed=not refused_because,
        refused_because=refused_because,
        consequence=consequence,
        effect_id=effect_id,
    )


def _reconcile(situation: _Situation) -> Offer:
    lookable = situation.lookable()
    refused = ""
    if not situation.ledger.run.is_open:
        refused = "The run is closed."
    elif not lookable:
        refused = "Nothing is unsettled that a provider could be asked about."
    providers = tuple(sorted({found.provider for found in lookable}))
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
    return _offer(
        RecoveryAction.RECONCILE,
        "Reconcile provider state",
        refused,
        Consequence(
            reads=providers,
            writes=tuple(found.label for found in follows),
            moves_money=any(found.moves_money for found in follows),
            words=f"Asks the provider what it holds and writes the answer down. {goes_on}",
        ),
    )


def _resume(situation: _Situation) -> Offer:
    ledger = situation.ledger
    start = last_verified(situation.definition, ledger) or "the beginning"
    return _offer(
        RecoveryAction.RESUME,
        f"Resume from {start}",
        _no_resume(situation),
        Consequence(
            reads=tuple(sorted({found.provider for found in situation.remaining()})),
            writes=tuple(found.label for found in situation.remaining()),
            moves_money=any(found.moves_money for found in situation.remaining()),
            words="Starts a new execution, which does what is left after checking approval and "
            "authority again. What is confirmed is not done again.",
        ),
    )


def _no_resume(situation: _Situation) -> str:
    ledger = situation.ledger
    if ledger.run.state is not RunState.REVIEW:
        return "The run is not in review."
    if ledger.unsettled_effects():
        return _settle_first(situation)
    if any(is_stuck(ledger, found) for found in ledger.effects):
        return "An effect is refused or in conflict: resuming would meet it again."
    pending = ledger.pending_approval()
    asks = any(found.needs_approval for found in situation.remaining())
    if asks and pending is not None and pending.expired(situation.now_ms):
        return "The customer did not decide in time: request a fresh approval."
    return ""


def _settle_first(situation: _Situation) -> str:
    """Return what has to be done about an unsettled effect; it may be done already."""
    if situation.lookable():
        return "An effect is unsettled and may be done already: reconcile it first."
    return "Whether the mail went out is in doubt: decide about it first."


def _request_approval(situation: _Situation) -> Offer:
    ledger = situation.ledger
    asked = [found for found in situation.remaining() if found.needs_approval]
    refused = ""
    if ledger.run.state is not RunState.REVIEW:
        refused = "The run is not in review."
    elif not asked:
        refused = "Nothing is left that needs the customer's approval."
    elif ledger.unsettled_effects():
        refused = _settle_first(situation)
    elif any(
        found.state is not EffectState.REJECTED and is_stuck(ledger, found)
        for found in ledger.effects
    ):
        refused = "An effect is in conflict with the provider's records: reconcile it first."
    return _offer(
        RecoveryAction.REQUEST_APPROVAL,
        "Request fresh customer approval",
        refused,
        Consequence(
            reads=(),
            writes=tuple(found.label for found in situation.remaining()),
            moves_money=any(found.moves_money for found in situation.remaining()),
            words="Asks the customer for a new decision on what is left. Nothing is sent before "
            "they approve; once they do, the run goes on.",
        ),
    )


def _mark_engineering(situation: _Situation) -> Offer:
    run = situation.ledger.run
    refused = ""
    if not run.is_open:
        refused = "The run is closed."
    elif run.engineering:
        refused = "It is marked already."
    return _offer(
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


def _close(situation: _Situation) -> Offer:
    ledger = situation.ledger
    refused = "" if ledger.run.state is RunState.REVIEW else "The run is not in review."
    open_ended = [found.operation for found in ledger.unsettled_effects()]
    words = "Closes the run as it is. What is confirmed stays; nothing more is done or looked up."
    if open_ended:
        words += f" The outcome of {', '.join(open_ended)} stays unproven."
    return _offer(
        RecoveryAction.CLOSE,
        "Close without further action",
        refused,
        Consequence(reads=(), writes=(), moves_money=False, words=words),
    )


def _treat_as_sent(situation: _Situation, mail: Effect) -> Offer:
    follows = [found for found in situation.remaining() if found.name != mail.operation]
    refused = _no_mail_decision(situation, mail)
    if not refused and mail.state is EffectState.REJECTED:
        refused = "The mail service refused it: it did not go out."
    return _offer(
        RecoveryAction.TREAT_AS_SENT,
        "Treat as sent",
        refused,
        Consequence(
            reads=(),
            writes=tuple(found.label for found in follows),
            moves_money=any(found.moves_money for found in follows),
            words="Takes your word that the mail went out, and lets the run go on. If it did not "
            "go out, the customer gets none.",
        ),
        mail.effect_id,
    )


def _send_again(situation: _Situation, mail: Effect) -> Offer:
    return _offer(
        RecoveryAction.SEND_AGAIN,
        "Send again",
        _no_mail_decision(situation, mail),
        Consequence(
            reads=(),
            writes=tuple(found.label for found in situation.remaining()),
            moves_money=any(found.moves_money for found in situation.remaining()),
            words="Sends the mail once more, and lets the run go on. The customer may get two.",
        ),
        mail.effect_id,
    )


def _no_mail_decision(situation: _Situation, mail: Effect) -> str:
    if situation.ledger.run.state is not RunState.REVIEW:
        return "The run is not in review."
    if mail.superseded:
        return "Another one has taken its place."
    if mail.state not in UNDECIDED_MAIL_STATES:
        return f"The mail is {mail.state}; there is nothing for a person to decide."
    return ""


def find_offer(
    found: tuple[Offer, ...], action: RecoveryAction, effect_id: str | None
) -> Offer | None:
    """Return the offer of ``action`` about ``effect_id``, None when there is none."""
    return {(offer.action, offer.effect_id): offer for offer in found}.get((action, effect_id))
