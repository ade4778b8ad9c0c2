"""SES as functions reach it: the embedded one, with what it lacks, and with its answers to lose."""

import json
import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx
from botocore.exceptions import BotoCoreError, ClientError

from sandbox.aws import endpoint
from sandbox.mail_events import MailEvents
from sandbox.ports import LOOPBACK

_SEND = "/v2/email/outbound-emails"
_TIMEOUT_SECONDS = 30.0
# What belongs to one connection, and what is said anew about the body that is passed on.
_NOT_PASSED_ON = frozenset({"connection", "content-length", "host", "transfer-encoding"})
_STOP_TIMEOUT_SECONDS = 5.0


@dataclass
class MailSwitches:
    """How the mail service behaves; changed while it runs."""

    lose_answers: int = 0
    """How many of the next mails are accepted without an answer."""
    silent: bool = False
    """Whether it tells nobody what became of a mail."""
    events_after_seconds: float = 0.0
    accepted_unheard: list[str] = field(default_factory=list)
    """Ids of the mails whose answers were lost."""


class MailGateway:
    """A server of this process, in front of the embedded SES."""

    def __init__(self) -> None:
        """Listens at once; it answers once it is told what to forward to."""
        self.switches = MailSwitches()
        self._upstream: str | None = None
        self._events: MailEvents | None = None
        self._server = ThreadingHTTPServer((LOOPBACK, 0), _handler(self._answer))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://{LOOPBACK}:{self._server.server_address[1]}"

    def forward_to(self, aws_port: int) -> None:
        self._events = MailEvents(aws_port)
        self._upstream = endpoint(aws_port)

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(_STOP_TIMEOUT_SECONDS)

    def _answer(self, request: "_Request") -> httpx.Response | None:
        """The embedded SES's answer; None when it gets lost."""
        if self._upstream is None:
            return httpx.Response(503)
        answer = httpx.request(
            request.method,
            f"{self._upstream}{request.path}",
            headers=request.headers,
            content=request.body,
            timeout=_TIMEOUT_SECONDS,
            trust_env=False,
        )
        if (request.method, request.path) != ("POST", _SEND) or not answer.is_success:
            return answer
        message_id = str(answer.json()["MessageId"])
        self._tell(message_id, json.loads(request.body))
        if self.switches.lose_answers > 0:
            self.switches.lose_answers -= 1
            self.switches.accepted_unheard.append(message_id)
            return None
        return answer

    def _tell(self, message_id: str, mail: dict[str, Any]) -> None:
        if not self.switches.silent:
            after_seconds = self.switches.events_after_seconds
            threading.Thread(
                target=self._publish, args=(message_id, mail, after_seconds), daemon=True
            ).start()

    def _publish(self, message_id: str, mail: dict[str, Any], after_seconds: float) -> None:
        time.sleep(after_seconds)
        try:
            if self._events is not None:
                self._events.publish(message_id, mail)
        except (BotoCoreError, ClientError):
            # The feed is best effort; the AWS may be stopping.
            logging.getLogger(__name__).warning("an event about mail was not handed over")


@dataclass(frozen=True)
class _Request:
    method: str
    path: str
    headers: dict[str, str]
    body: bytes


def _handler(
    answer: Callable[[_Request], httpx.Response | None],
) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def _pass_on(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            headers = {
                name: value
                for name, value in self.headers.items()
                if name.lower() not in _NOT_PASSED_ON
            }
            request = _Request(self.command, self.path, headers, self.rfile.read(length))
            found = answer(request)
            if found is None:
                self.close_connection = True
                return
            self.send_response(found.status_code)
            self.send_header("Content-Type", found.headers.get("content-type", "application/json"))
            self.send_header("Content-Length", str(len(found.content)))
            self.end_headers()
            self.wfile.write(found.content)

        do_DELETE = do_GET = do_POST = do_PUT = _pass_on  # noqa: N815  named so by http.server

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Says nothing: the embedded AWS has a log."""

    return Handler
