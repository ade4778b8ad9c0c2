"""A server on this machine that answers one connection in whatever way a network can go wrong."""

import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Self

LOOPBACK = "127.0.0.1"
# Only a bound for a test that went wrong: every wait here is ended by the other side.
_PATIENCE_SECONDS = 30
# More than Linux queues for a listener that asked for none.
_QUEUE_FILLERS = 4

Behaviour = Callable[[socket.socket, threading.Event], None]
"""What to do with a connection whose request was read; the event says that the test is over."""


class RawServer:
    """Takes one connection, reads its request to the end, then behaves."""

    def __init__(self, behave: Behaviour) -> None:
        """Listen on a free port."""
        self._behave = behave
        self._over = threading.Event()
        self._listener = socket.create_server((LOOPBACK, 0))
        self._listener.settimeout(_PATIENCE_SECONDS)
        self._thread = threading.Thread(target=self._serve)
        self.port: int = self._listener.getsockname()[1]
        self.requests = bytearray()

    def __enter__(self) -> Self:
        """Start serving."""
        self._thread.start()
        return self

    def __exit__(self, *_exception: object) -> None:
        """Stop serving; returns when the thread has ended."""
        self._over.set()
        self._thread.join(_PATIENCE_SECONDS)
        self._listener.close()

    def _serve(self) -> None:
        connection, _ = self._listener.accept()
        with connection:
            connection.settimeout(_PATIENCE_SECONDS)
            self.requests += _read_request(connection)
            self._behave(connection, self._over)


def says(raw: bytes) -> Behaviour:
    """Answer with exactly these bytes."""

    def behave(connection: socket.socket, _over: threading.Event) -> None:
        connection.sendall(raw)

    return behave


def answers(
    status: int, body: bytes, headers: tuple[str, ...] = (), length: int | None = None
) -> Behaviour:
    """Answer with this; ``length`` states another length than the body has."""

    def behave(connection: socket.socket, _over: threading.Event) -> None:
        stated = len(body) if length is None else length
        head = "\r\n".join((f"HTTP/1.1 {status} Said", f"Content-Length: {stated}", *headers))
        connection.sendall(f"{head}\r\n\r\n".encode() + body)

    return behave


def stays_silent(_connection: socket.socket, over: threading.Event) -> None:
    """Keep the connection open and say nothing."""
    over.wait(_PATIENCE_SECONDS)


def resets(connection: socket.socket, _over: threading.Event) -> None:
    """Reset the connection after the request was read."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def closes(_connection: socket.socket, _over: threading.Event) -> None:
    """Close the connection after the request was read."""


def starts_and_stays_silent(connection: socket.socket, over: threading.Event) -> None:
    """Send the head and the first byte of a body, and no more."""
    connection.sendall(b"HTTP/1.1 200 Said\r\nContent-Length: 1000\r\n\r\n{")
    over.wait(_PATIENCE_SECONDS)


@contextmanager
def refusing_port() -> Iterator[int]:
    """Yield a port that refuses connections: bound, so nobody else gets it, and not listening."""
    with socket.socket() as bound:
        bound.bind((LOOPBACK, 0))
        yield bound.getsockname()[1]


@contextmanager
def unanswering_port() -> Iterator[int]:
    """Yield a port whose queue is full: the kernel leaves further connections unanswered."""
    with ExitStack() as opened:
        listener = opened.enter_context(socket.socket())
        listener.bind((LOOPBACK, 0))
        listener.listen(0)
        for _ in range(_QUEUE_FILLERS):
            filler = opened.enter_context(socket.socket())
            filler.setblocking(False)
            filler.connect_ex(listener.getsockname())
        yield listener.getsockname()[1]


def _read_request(connection: socket.socket) -> bytes:
    """Return the request; also what is not HTTP, such as the first message of TLS."""
    received = bytearray()
    while True:
        part = connection.recv(65536)
        received += part
        head, found, body = bytes(received).partition(b"\r\n\r\n")
        if not part or not head[:1].isalpha():
            return bytes(received)
        if found and len(body) >= _stated_length(head):
            return bytes(received)


def _stated_length(head: bytes) -> int:
    for line in head.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            return int(value)
    return 0
