"""What a mail service says of a mail after it has taken it, in its own words and in truth."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from tests.simulation.faults import Fault

DELIVERED_AFTER_MS = (1_000, 60_000)


@dataclass(frozen=True)
class MailNews:
    """One kind of event. Names and members are those of SES ("Contents of event data")."""

    detail_type: str
    bounce: Mapping[str, str] = field(default_factory=dict, hash=False)
    returned: bool = False
    """Whether the mail did not reach its reader, or was not wanted: somebody should look."""

    proves: bool = True
    """Whether it says that this mail had been sent."""

    after_ms: tuple[int, int] = (0, 0)


SENT = MailNews("Email Sent")
DELIVERED = MailNews("Email Delivered")
BOUNCED = MailNews(
    "Email Bounced",
    {"bounceType": "Permanent", "bounceSubType": "General"},
    returned=True,
    after_ms=(1_000, 3_600_000),
)
# What an out-of-office answer comes as.
AWAY = MailNews(
    "Email Bounced",
    {"bounceType": "Transient", "bounceSubType": "General"},
    proves=False,
    after_ms=(1_000, 3_600_000),
)
COMPLAINED = MailNews("Email Complaint Received", returned=True, after_ms=(60_000, 86_400_000))
REJECTED = MailNews("Email Rejected", returned=True, after_ms=(1_000, 60_000))

NEWS: Mapping[StrEnum, MailNews] = {
    Fault.MAIL_BOUNCES: BOUNCED,
    Fault.MAIL_ANSWERED: AWAY,
    Fault.MAIL_UNWANTED: COMPLAINED,
    Fault.MAIL_REJECTED: REJECTED,
}
NEVER_ARRIVES = frozenset({Fault.MAIL_BOUNCES, Fault.MAIL_REJECTED})
