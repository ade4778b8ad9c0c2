"""An event of the mail service: it sent, delivered or returned a mail that carries our tags.

This is the only way to learn what became of a mail whose answer was lost. The events come through
EventBridge (SES documentation, "Monitoring SES events using Amazon EventBridge") and only AWS can
put them there: it takes the source ``aws.ses`` from nobody else. They hold addresses. Of each only
the message's id and our two tags are used; what the mail says is read from the frozen request.
"""

import re
from collections.abc import Mapping

from aws_lambda_powertools.utilities.typing import LambdaContext
from pydantic import BaseModel, ConfigDict, Field

from ledger.event import Actor
from ledger.idempotency import ID_CHARACTERS
from ledger.notice import tell
from ledger.ports import Ports
from providers.mail_kinds import MAIL_KINDS
from providers.ses_events import WORDS, MailWord
from runtime.boundary import boundary
from runtime.log import log
from runtime.wiring import ports

MAIL_SERVICE = Actor(kind="reconciler", actor_id="mail-event")
MAX_NAME_CHARACTERS = 255
# SES documentation, "Contents of event data": a unique id that SES gave the message. In the
# sandbox it ends with the service's own domain, so that no address of a person has its shape.
_MESSAGE_ID = re.compile(r"[A-Za-z0-9-]{1,128}(@email\.amazonses\.com)?")
_OUR_ID = re.compile(rf"(run|eff)_[a-z2-7]{{{ID_CHARACTERS}}}")

# SES documentation, bounce types: "Transient"/"General" is also what an out-of-office answer to a
# delivered mail comes as, so it says nothing about the mail.
_MAY_BE_AN_ANSWER = ("Transient", "General")


class _Part(BaseModel):
    model_config = ConfigDict(
        extra="ignore", frozen=True, hide_input_in_errors=True, populate_by_name=True
    )


class Mail(_Part):
    """The part of the event's ``mail`` that is read."""

    message_id: str = Field(alias="messageId", max_length=MAX_NAME_CHARACTERS)
    tags: dict[str, list[str]] = Field(default_factory=dict)

    def tag(self, name: str) -> str:
        """Return the one value of our tag, empty when there is none of its shape."""
        match self.tags.get(name):
            case [value] if _OUR_ID.fullmatch(value):
                return value
        return ""


class Bounce(_Part):
    """The part of the event's ``bounce`` that is read."""

    bounce_type: str = Field(default="", alias="bounceType")
    bounce_sub_type: str = Field(default="", alias="bounceSubType")


class Detail(_Part):
    """The event's ``detail``."""

    mail: Mail
    bounce: Bounce = Bounce()


class MailEvent(_Part):
    """The part of an event that is read."""

    detail_type: str = Field(alias="detail-type", max_length=MAX_NAME_CHARACTERS)
    detail: Detail

    @property
    def word(self) -> MailWord | None:
        """Return what the event says of the mail, None when that is nothing."""
        bounce = self.detail.bounce
        if (bounce.bounce_type, bounce.bounce_sub_type) == _MAY_BE_AN_ANSWER:
            return None
        return WORDS.get(self.detail_type)


def handle_mail_event(ports: Ports, event: MailEvent) -> str:
    """Return what was done, in a word. A mail that is not ours changes nothing.

    Raises RetryLater when the ledger gave no answer: the event has to be delivered again.
    """
    mail, word = event.detail.mail, event.word
    run_id, effect_id = mail.tag("run_id"), mail.tag("effect_id")
    if word is None or not _MESSAGE_ID.fullmatch(mail.message_id):
        return "ignored"
    ledger = ports.store.load(run_id) if run_id and effect_id else None
    effect = ledger.effect(effect_id) if ledger else None
    kind = MAIL_KINDS.get(effect.provider) if effect else None
    if effect is None or kind is None:
        return "not ours"
    params = effect.request.stored_params()
    record = kind.record(mail.message_id, word, effect_id, effect.bound, params)
    tell(ports, run_id, effect_id, record, MAIL_SERVICE)
    return word.provider_status


def handler(event: Mapping[str, object], _context: LambdaContext) -> dict[str, str]:
    """Return what was done, for the log only."""
    with boundary("the mail service's event was not handled", stage="mail_event"):
        parsed = MailEvent.model_validate(event)
        outcome = handle_mail_event(ports(), parsed)
        log("mail event", run_id=parsed.detail.mail.tag("run_id"), outcome=outcome)
        return {"outcome": outcome}
