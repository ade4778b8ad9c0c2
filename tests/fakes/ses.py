"""SES as boto3 shows it: accepts, refuses, or accepts and loses the answer."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from botocore.exceptions import ClientError, EndpointConnectionError, ReadTimeoutError

from ledger.ports import Clock

_ENDPOINT = "https://email.invalid"


class MailFault(StrEnum):
    """What may happen to one send."""

    ACCEPT_THEN_DROP = "accept_then_drop"
    DROP_BEFORE_ACCEPT = "drop_before_accept"
    NEVER_SENT = "never_sent"
    REJECT = "reject"
    THROTTLE = "throttle"


@dataclass(frozen=True)
class SentMail:
    """A mail that SES accepted."""

    message_id: str
    to: str
    subject: str
    text: str
    tags: Mapping[str, str]
    at_ms: int


class FakeSes:
    """The one operation of boto3's ``sesv2`` client, and an event feed that may trail or be silent.

    There is no way to ask for a mail without its message id, as with SES.
    """

    def __init__(self, clock: Clock) -> None:
        """Start with no mail."""
        self._clock = clock
        self._faults: list[MailFault] = []
        self.sent: list[SentMail] = []
        self.sends_tried = 0
        self.events_after_seconds: float | None = 0
        """How far the event feed trails; None: it stays silent."""

    def fail_next(self, fault: MailFault) -> None:
        """Let the next send meet ``fault``; several form a queue."""
        self._faults.append(fault)

    def send_email(self, **request: Any) -> Mapping[str, Any]:
        """Return the accepted message's id. Raises botocore's exceptions."""
        fault = self._faults.pop(0) if self._faults else None
        if fault is MailFault.NEVER_SENT:
            raise EndpointConnectionError(endpoint_url=_ENDPOINT)
        self.sends_tried += 1
        match fault:
            case MailFault.DROP_BEFORE_ACCEPT:
                raise ReadTimeoutError(endpoint_url=_ENDPOINT)
            case MailFault.REJECT:
                raise _client_error(400, "MessageRejected")
            case MailFault.THROTTLE:
                raise _client_error(429, "TooManyRequestsException")
        mail = self._accept(request)
        if fault is MailFault.ACCEPT_THEN_DROP:
            raise ReadTimeoutError(endpoint_url=_ENDPOINT)
        return {"MessageId": mail.message_id}

    def events(self, tag: str, value: str) -> list[SentMail]:
        """Return the sends with this tag that the event feed has reported by now."""
        if self.events_after_seconds is None:
            return []
        reported_ms = self._clock.now_ms() - self.events_after_seconds * 1000
        return [
            mail for mail in self.sent if mail.tags.get(tag) == value and mail.at_ms <= reported_ms
        ]

    def _accept(self, request: Mapping[str, Any]) -> SentMail:
        (to,) = request["Destination"]["ToAddresses"]
        simple = request["Content"]["Simple"]
        mail = SentMail(
            message_id=f"message-{len(self.sent) + 1}",
            to=to,
            subject=simple["Subject"]["Data"],
            text=simple["Body"]["Text"]["Data"],
            tags={tag["Name"]: tag["Value"] for tag in request["EmailTags"]},
            at_ms=self._clock.now_ms(),
        )
        self.sent.append(mail)
        return mail


def _client_error(status: int, code: str) -> ClientError:
    return ClientError(
        {
            "Error": {"Code": code, "Message": "Refused by the fake."},
            "ResponseMetadata": {"HTTPStatusCode": status},  # type: ignore[typeddict-item]
        },
        "SendEmail",
    )
