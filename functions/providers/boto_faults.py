"""What a failure of boto3 says about the request: it never left, got no answer, or got this one."""

import re
import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from traceback import walk_tb
from typing import Any

from botocore import exceptions as boto
from botocore.parsers import ResponseParserError

from ledger.contract import FaultKind
from ledger.provider import ProviderFault

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


@contextmanager
def boto_faults() -> Iterator[None]:
    """Turn what boto3 raises into a ProviderFault."""
    try:
        yield
    except boto.ClientError as error:
        raise _answered(error) from None  # its message may quote the input
    except boto.BotoCoreError as error:
        raise _unanswered(error) from error
    except ResponseParserError as error:
        raise ProviderFault(FaultKind.UNREADABLE) from error


def told(answer: Mapping[str, Any], name: str) -> Any:  # noqa: ANN401  boto3's own types
    """Return a field of an answer. Raises ProviderFault for an answer that lacks it."""
    if name not in answer:
        raise ProviderFault(FaultKind.UNREADABLE, 200)
    return answer[name]


def _answered(error: boto.ClientError) -> ProviderFault:
    """Return what the service's own error says. Its message is dropped: it may quote the input."""
    status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode")
    code = error.response.get("Error", {}).get("Code")
    if status is None or status < 400:  # a redirect, which botocore reports as an error
        return ProviderFault(FaultKind.UNREADABLE, status)
    if not isinstance(code, str) or not CODE_SHAPE.fullmatch(code):
        # A page of something in between, which may have let the request pass before.
        return ProviderFault(FaultKind.UNREADABLE, status)
    return ProviderFault(FaultKind.ANSWERED, status, code)


def _unanswered(error: boto.BotoCoreError) -> ProviderFault:
    """Return whether a request without an answer can have arrived."""
    if isinstance(error, _NEVER_SENT):
        return ProviderFault(FaultKind.NEVER_SENT)
    if isinstance(error, boto.SSLError) and _in_handshake(error):
        return ProviderFault(FaultKind.NEVER_SENT)
    return ProviderFault(FaultKind.NO_ANSWER)


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
