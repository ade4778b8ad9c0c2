"""SES v2 through boto3: no retries, short timeouts, every failure a ProviderFault."""

from collections.abc import Mapping
from typing import Any, Protocol

from botocore.config import Config

from ledger.contract import FaultKind
from ledger.provider import ProviderFault
from providers.boto_faults import boto_faults

# Together the contract's call timeout.
SES_CONFIG = Config(
    connect_timeout=3,
    read_timeout=7,
    # One attempt in all: a repeated send is a second mail.
    retries={"total_max_attempts": 1, "mode": "standard"},
)


class SesClient(Protocol):
    """The one operation used of boto3's ``sesv2`` client, made with SES_CONFIG."""

    def send_email(self, **request: Any) -> Mapping[str, Any]:  # noqa: ANN401  boto3's own types
        """Return the answer that names the accepted message."""


class SesMailer:
    """``Mailer`` over SES."""

    def __init__(self, client: SesClient, sender: str, configuration_set: str | None) -> None:
        """Send as ``sender``; the configuration set, if any, publishes events by tag."""
        self._client = client
        self._sender = sender
        self._configuration_set = configuration_set

    def send(self, to: str, subject: str, text: str, tags: Mapping[str, str]) -> str:
        """Return the message id. Raises ProviderFault."""
        try:
            with boto_faults():
                answer = self._client.send_email(**self._request(to, subject, text, tags))
        except (AttributeError, TypeError) as error:
            # What botocore's parser raises on JSON that is not an object.
            raise ProviderFault(FaultKind.UNREADABLE) from error
        message_id = answer.get("MessageId")
        if not isinstance(message_id, str) or not message_id:
            raise ProviderFault(FaultKind.UNREADABLE, 200)
        return message_id

    def _request(
        self, to: str, subject: str, text: str, tags: Mapping[str, str]
    ) -> dict[str, object]:
        request: dict[str, object] = {
            "FromEmailAddress": self._sender,
            "Destination": {"ToAddresses": [to]},
            "Content": {
                "Simple": {
                    "Subject": {"Data": subject, "Charset": "UTF-8"},
                    "Body": {"Text": {"Data": text, "Charset": "UTF-8"}},
                }
            },
            "EmailTags": [{"Name": name, "Value": tags[name]} for name in sorted(tags)],
        }
        if self._configuration_set is not None:
            request["ConfigurationSetName"] = self._configuration_set
        return request
