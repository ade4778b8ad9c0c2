"""A server in front of another one: it passes everything on, and loses the answers it is told to.

What is lost was carried out: the server behind has answered before the connection is closed.
"""

import http.client
import re
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from tests.fakes.raw_server import LOOPBACK

# Only a bound for a server that hangs: every one behind this answers in well under a second.
_PATIENCE_SECONDS = 30
# Headers of one connection, and how the body was cut on it.
_NOT_PASSED_ON = frozenset({"connection", "expect", "keep-alive", "transfer-encoding"})


class AnswerLoser:
    """Stands before the server of ``port`` while it is entered."""

    def __init__(self, port: int) -> None:
        """Listen on a free port."""
        self._behind = port
        self._lose: list[re.Pattern[str]] = []
        self.lost: list[int] = []
        """The statuses of the answers that were lost."""

        self._server = ThreadingHTTPServer((LOOPBACK, 0), _handler(self))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever)

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self._server.server_address[1])

    @property
    def url(self) -> str:
        """Where it listens, as an address."""
        return f"http://{LOOPBACK}:{self.port}"

    def lose_next(self, request: str) -> None:
        """Lose the next answer to a ``METHOD /path?query`` that the pattern matches as a whole."""
        self._lose.append(re.compile(request))

    def forget(self) -> None:
        """Lose no further answer."""
        self._lose.clear()
        self.lost.clear()

    def __enter__(self) -> Self:
        """Start serving."""
        self._thread.start()
        return self

    def __exit__(self, *_exception: object) -> None:
        """Stop serving; returns when the thread has ended."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(_PATIENCE_SECONDS)

    def passed_on(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes
    ) -> tuple[int, list[tuple[str, str]], bytes] | None:
        """Return status, headers and body from behind, None where they get lost."""
        connection = http.client.HTTPConnection(LOOPBACK, self._behind, timeout=_PATIENCE_SECONDS)
        try:
            connection.request(method, path, body or None, _kept(headers.items()))
            answer = connection.getresponse()
            content = answer.read()
        finally:
            connection.close()
        for pattern in self._lose:
            if pattern.fullmatch(f"{method} {path}"):
                self._lose.remove(pattern)
                self.lost.append(answer.status)
                return None
        return answer.status, list(_kept(answer.getheaders()).items()), content


def _kept(headers: Any) -> dict[str, str]:
    return {name: value for name, value in headers if name.lower() not in _NOT_PASSED_ON}


def _handler(loser: AnswerLoser) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"  # else a client that expects "100 Continue" waits for it

        def _pass_on(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            found = loser.passed_on(self.command, self.path, dict(self.headers), body)
            if found is None:
                self.close_connection = True
                return
            status, headers, content = found
            self.send_response_only(status)
            named = {name.lower() for name, _ in headers}
            if "content-length" not in named and self.command != "HEAD":
                headers.append(("Content-Length", str(len(content))))
            for name, value in headers:
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        do_DELETE = do_GET = do_HEAD = do_POST = do_PUT = _pass_on  # noqa: N815  http.server's names

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Say nothing: tests look at what came of a request."""

    return Handler
