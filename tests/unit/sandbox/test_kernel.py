"""The process at the other end of a connection is found, and killed for certain."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator

import pytest

from sandbox import kernel

_CONNECT_AND_WAIT = """
import socket, sys
connection = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
connection.recv(1)
"""


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server


@pytest.fixture
def client(listener: socket.socket) -> Iterator[subprocess.Popen[bytes]]:
    port = str(listener.getsockname()[1])
    command = [sys.executable, "-c", _CONNECT_AND_WAIT, port]
    process = subprocess.Popen(command)
    yield process
    process.kill()
    process.wait()


def _accept(listener: socket.socket) -> tuple[socket.socket, int, int]:
    connection, (_, client_port) = listener.accept()
    return connection, client_port, listener.getsockname()[1]


def test_client_process_is_the_one_at_the_other_end(
    listener: socket.socket, client: subprocess.Popen[bytes]
) -> None:
    connection, client_port, server_port = _accept(listener)
    with connection:
        found = kernel.client_process(client_port, server_port, ancestor=os.getpid())

    assert found == client.pid


def test_client_process_outside_the_ancestor_is_not_found(
    listener: socket.socket, client: subprocess.Popen[bytes]
) -> None:
    connection, client_port, server_port = _accept(listener)
    with connection:
        found = kernel.client_process(client_port, server_port, ancestor=client.pid)

    assert found is None


def test_kill_is_reported_only_after_the_end(
    listener: socket.socket, client: subprocess.Popen[bytes]
) -> None:
    connection, _, _ = _accept(listener)
    with connection:
        assert kernel.kill_for_certain(client.pid, timeout_seconds=30)

    assert client.wait() == -signal.SIGKILL


def test_killing_a_process_that_is_gone_kills_nothing(client: subprocess.Popen[bytes]) -> None:
    client.kill()
    client.wait()

    assert not kernel.kill_for_certain(client.pid, timeout_seconds=1)


def test_listening_socket_belongs_to_its_process_alone(
    listener: socket.socket, client: subprocess.Popen[bytes]
) -> None:
    port = listener.getsockname()[1]
    connection, _, _ = _accept(listener)
    with connection:
        assert kernel.listens_on(os.getpid(), port)
        assert not kernel.listens_on(client.pid, port)


def test_descendants_are_strictly_below(client: subprocess.Popen[bytes]) -> None:
    assert kernel.is_descendant(client.pid, os.getpid())
    assert not kernel.is_descendant(os.getpid(), os.getpid())
    assert not kernel.is_descendant(os.getpid(), client.pid)
    assert client.pid in kernel.descendants_of(os.getpid())
