"""One HTTP exchange with Stripe, such that a failure tells whether the request could have arrived.

Stripe's own clients are not used for this. ``RequestsClient`` follows redirects, takes credentials
from ``~/.netrc`` and reports a reset before and after the request was written as one error;
``UrllibClient`` has one timeout for connecting and reading. Here connecting is a step of its own:
what fails in it was never sent, what fails after it got no answer.

Each exchange opens its own connection. A kept one dies unseen while Lambda freezes the environment
between two invocations, and the next refund written to it would end as unknown for no reason.
"""

import http.client
import socket
import ssl
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol
from urllib.parse import urlsplit

from ledger.contract import FaultKind
from ledger.provider import ProviderFault

# A TCP and TLS handshake that takes longer is going to fail, and nothing is lost by giving up.
CONNECT_TIMEOUT_SECONDS = 3.0
# A full page of refunds is some 150 KB; more than this is not an answer.
MAX_ANSWER_BYTES = 4 * 1024 * 1024
_READ_BYTES = 64 * 1024
_LOOPBACK_HOSTS = frozenset({"127.0.0.1", "::1", "localhost"})


@dataclass(frozen=True)
class Answer:
    """What came back. Header names are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Transport(Protocol):
    """Sends one request and follows, repeats and interprets nothing."""

    def __call__(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> Answer:
        """Return the answer. Raises ProviderFault: NEVER_SENT or NO_ANSWER."""


class SocketTransport:
    """Sends to one base address, over TLS unless that is this machine."""

    def __init__(
        self,
        base_address: str,
        tls: Callable[[], ssl.SSLContext],
        timeout_seconds: float,
        query_timeout_seconds: float | None = None,
        connect_timeout_seconds: float = CONNECT_TIMEOUT_SECONDS,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """Fix address and limits. A timeout covers connecting, writing and reading; a GET's is
        ``query_timeout_seconds`` where given.

        Raises ValueError for a base address that would carry the API key in the clear.
        """
        parts = urlsplit(base_address)
        self._host = parts.hostname or ""
        self._port = parts.port
        secure = parts.scheme == "https"
        if not secure and not (parts.scheme == "http" and self._host in _LOOPBACK_HOSTS):
            raise ValueError(f"{base_address!r} is neither https nor this machine.")
        self._tls = tls() if secure else None
        self._timeout_seconds = timeout_seconds
        self._query_timeout_seconds = query_timeout_seconds or timeout_seconds
        self._connect_timeout_seconds = connect_timeout_seconds
        self._monotonic = monotonic

    def __call__(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> Answer:
        """Return the answer. Raises ProviderFault: NEVER_SENT, NO_ANSWER or UNREADABLE."""
        query = method == "GET"
        allowed_seconds = self._query_timeout_seconds if query else self._timeout_seconds
        deadline = self._monotonic() + allowed_seconds
        connection = self._connection()
        try:
            stream = self._connect(connection, deadline)
            return self._exchange(connection, stream, deadline, (method, path, headers, body))
        finally:
            connection.close()

    def _connection(self) -> http.client.HTTPConnection:
        timeout = min(self._connect_timeout_seconds, self._timeout_seconds)
        if self._tls is None:
            return http.client.HTTPConnection(self._host, self._port, timeout=timeout)
        return http.client.HTTPSConnection(
            self._host, self._port, timeout=timeout, context=self._tls
        )

    def _connect(self, connection: http.client.HTTPConnection, deadline: float) -> socket.socket:
        """Return the connected socket, TLS included. Nothing of the request is written yet."""
        try:
            connection.connect()
            stream: socket.socket = connection.sock
            self._allow_until(stream, deadline)
        except OSError as error:  # DNS, refused, timeout and every TLS failure are OSErrors
            raise ProviderFault(FaultKind.NEVER_SENT) from error
        return stream

    def _exchange(
        self,
        connection: http.client.HTTPConnection,
        stream: socket.socket,
        deadline: float,
        request: tuple[str, str, Mapping[str, str], bytes],
    ) -> Answer:
        method, path, headers, body = request
        try:
            connection.request(
                method, path, body=body or None, headers={**headers, "Connection": "close"}
            )
            response = connection.getresponse()
            content = self._read(response, stream, deadline)
        except (OSError, http.client.HTTPException) as error:
            raise ProviderFault(FaultKind.NO_ANSWER) from error
        lower = {name.lower(): value for name, value in response.getheaders()}
        return Answer(status=response.status, headers=lower, body=content)

    def _read(
        self, response: http.client.HTTPResponse, stream: socket.socket, deadline: float
    ) -> bytes:
        """Return the body. The deadline is for all of it: a dripping body ends, too."""
        content = bytearray()
        # Once the body is complete the response closes itself, and its socket with it.
        while not response.isclosed():
            self._allow_until(stream, deadline)
            part = response.read1(_READ_BYTES)
            content += part
            if len(content) > MAX_ANSWER_BYTES:
                raise ProviderFault(FaultKind.UNREADABLE, response.status)
            if not part:
                break
        if response.length:  # read1 reports a body cut short as its end
            raise http.client.IncompleteRead(bytes(content), response.length)
        return bytes(content)

    def _allow_until(self, stream: socket.socket, deadline: float) -> None:
        remaining_seconds = deadline - self._monotonic()
        if remaining_seconds <= 0:
            raise TimeoutError("The time for this exchange is used up.")
        stream.settimeout(remaining_seconds)
