"""SES v2 through boto3: no retries, short timeouts, every failure a ProviderFault."""

import re
import ssl
from collections.abc import Mapping
from traceback import walk_tb
from typing import Any, Protocol

from botocore import exceptions as boto
from botocore.config import Config
from botocore.parsers import ResponseParserError

from ledger.contract import FaultKind
from ledger.provider import ProviderFault

# Together the contract's call timeout.
SES_CONFIG = Config(
    connect_timeout=3,
    read_timeout=7,
    # One attempt in all: a repeated send is a second mail.
    retries={"total_max_attempts": 1, "mode": "standard"},
)
# Error codes are names of the API model. What has another shape is none, and could hold anything;
# botocore gives the status in the place of a code to an answer that names none.
CODE_SHAPE = re.compile(r"[A-Za-z][A-Za-z0-9_.]{0,63}")

# Raised while the request is prepared or the connection is made.
_NEVER_SENT = (
    boto.ConnectTimeoutError,
    boto.CredentialRetrievalError,
    boto.EndpointConnectionError,  # DNS and refused
    boto.NoCredentialsError,
    boto.NoRegionError,
    boto.ParamValidationError,
    boto.PartialCredentialsError,
    boto.ProxyConnectionError,
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
            answer = self._client.send_email(**self._request(to, subject, text, tags))
        except boto.ClientError as error:
            raise _answered(error) from None  # its message may quote the address
        except (ResponseParserError, AttributeError, TypeError) as error:
            # The last two are what botocore's parser raises on JSON that is not an object.
            raise ProviderFault(FaultKind.UNREADABLE) from error
        except boto.BotoCoreError as error:
            raise ProviderFault(_kind(error)) from error
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


def _answered(error: boto.ClientError) -> ProviderFault:
    status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode")
    code = error.response.get("Error", {}).get("Code")
    if status is None or status < 400:  # a redirect, which botocore reports as an error
        return ProviderFault(FaultKind.UNREADABLE, status)
    if not isinstance(code, str) or not CODE_SHAPE.fullmatch(code):
        # A page of something in between, which may have let the request pass before.
        return ProviderFault(FaultKind.UNREADABLE, status)
    return ProviderFault(FaultKind.ANSWERED, status, code)


def _kind(error: boto.BotoCoreError) -> FaultKind:
    if isinstance(error, _NEVER_SENT):
        return FaultKind.NEVER_SENT
    if isinstance(error, boto.SSLError) and _in_handshake(error):
        return FaultKind.NEVER_SENT
    return FaultKind.NO_ANSWER


def _in_handshake(error: boto.SSLError) -> bool:
    """Return whether TLS failed before the request, which botocore does not tell apart.

    The failure's own traceback does: nothing is written before the handshake is over.
    """
    wrapped = error.kwargs.get("error")
    inner = next(iter(getattr(wrapped, "args", ())), None)
    if not isinstance(inner, ssl.SSLError):
        return False
    return any(
        frame.f_code is ssl.SSLSocket.do_handshake.__code__
        for frame, _ in walk_tb(inner.__traceback__)
    )
