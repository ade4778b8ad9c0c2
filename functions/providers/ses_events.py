"""The events of a mail by their names at SES and at EventBridge, and what each says. Pure data."""

from collections.abc import Mapping
from typing import NamedTuple

from ledger.provider import RecordStatus


class MailWord(NamedTuple):
    """What SES says of a mail: in our terms, and in a word of its own."""

    status: RecordStatus
    provider_status: str


class MailEventKind(NamedTuple):
    """One event. SES v2 API model, ``EventType``; "Amazon Simple Email Service events"."""

    asked_for_as: str
    """What the configuration set is asked to publish."""

    detail_type: str
    """What EventBridge hands it on as."""

    word: MailWord


# A complaint comes after a delivery, and is a customer who did not want this mail: somebody should
# look. An opened or clicked mail is the customer's business, so neither is asked for.
MAIL_EVENTS = (
    MailEventKind("bounce", "Email Bounced", MailWord(RecordStatus.FAILED, "bounced")),
    MailEventKind(
        "complaint", "Email Complaint Received", MailWord(RecordStatus.FAILED, "complained of")
    ),
    MailEventKind("delivery", "Email Delivered", MailWord(RecordStatus.DONE, "delivered")),
    MailEventKind("reject", "Email Rejected", MailWord(RecordStatus.FAILED, "rejected")),
    MailEventKind("send", "Email Sent", MailWord(RecordStatus.DONE, "sent")),
)
WORDS: Mapping[str, MailWord] = {found.detail_type: found.word for found in MAIL_EVENTS}
