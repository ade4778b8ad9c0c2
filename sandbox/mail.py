"""Mail that the embedded SES accepted."""

from dataclasses import dataclass
from typing import Any

import httpx

from sandbox.aws import ACCOUNT, endpoint

_TIMEOUT_SECONDS = 10.0


@dataclass(frozen=True)
class Mail:
    """One accepted message."""

    message_id: str
    to: tuple[str, ...]
    subject: str
    text: str


def mail_url(aws_port: int) -> str:
    """Where a browser or curl sees every accepted message."""
    return f"{endpoint(aws_port)}/_ministack/ses/messages"


def accepted_mail(aws_port: int) -> list[Mail]:
    """Every accepted message, oldest first."""
    answer = httpx.get(mail_url(aws_port), timeout=_TIMEOUT_SECONDS, trust_env=False)
    by_account: dict[str, list[dict[str, Any]]] = answer.raise_for_status().json()["messages"]
    return [
        Mail(message["MessageId"], tuple(message["To"]), message["Subject"], message["BodyText"])
        for message in by_account.get(ACCOUNT, [])
    ]
