"""Servers of this machine: started on a free port, ended for certain."""

import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from sandbox import kernel
from sandbox.errors import StartError
from sandbox.ports import free_port

_TETHER_PROGRAM = Path(__file__).with_name("tether.py")
# A port can be taken between its choice and its use, rarely twice running.
_PORT_ATTEMPTS = 5
_READY_TIMEOUT_SECONDS = 60.0
_READY_POLL_SECONDS = 0.05
# The tether gives the group 3 s before SIGKILL; a loaded machine may need the rest.
_STOP_TIMEOUT_SECONDS = 20.0
_LOG_TAIL_LINES = 15

ReadyProbe = Callable[[int], bool]
"""Whether the server on this port answers; returns at once."""


@dataclass
class Server:
    """One running server and the tether that ends it when this process is gone."""

    name: str
    pid: int
    port: int
    log_path: Path
    _tether: subprocess.Popen[bytes]

    @property
    def running(self) -> bool:
        return self._tether.poll() is None

    def stop(self) -> None:
        """Ends the server and everything below it; returns when all are gone."""
        _end(self._tether)


def start_server(
    name: str,
    command: Callable[[int], list[str]],
    environment: Callable[[int], Mapping[str, str]],
    ready: ReadyProbe,
    log_path: Path,
) -> Server:
    """A server that answers on a free port.

    `command` and `environment` are asked anew for each port tried.
    Raises StartError when it ends, or stays silent, on every port tried.
    """
    for _ in range(_PORT_ATTEMPTS):
        port = free_port()
        server = _spawn(name, port, command(port), environment(port), log_path)
        try:
            if _becomes_ready(server, ready):
                return server
        except BaseException:
            server.stop()
            raise
        server.stop()
    raise StartError(f"{name} did not start; {log_path} ends:\n{log_tail(log_path)}")


def run_command(
    command: list[str],
    directory: Path,
    environment: Mapping[str, str],
    log_path: Path,
    timeout_seconds: float,
) -> int:
    """The command's exit status; its output is in the log.

    Interrupted or out of time, the command and everything below it are ended first.
    Raises subprocess.TimeoutExpired.
    """
    tether = _tether(command, directory, environment, log_path)
    try:
        return tether.wait(timeout_seconds)
    finally:
        _end(tether)


def log_tail(log_path: Path) -> str:
    """The last lines of a log, for an error's text."""
    lines = log_path.read_text(errors="replace").splitlines()
    return "\n".join(lines[-_LOG_TAIL_LINES:])


def _spawn(
    name: str, port: int, command: list[str], environment: Mapping[str, str], log_path: Path
) -> Server:
    tether = _tether(command, Path.cwd(), environment, log_path)
    if tether.stdout is None:
        raise StartError(f"{name}: the tether has no output to read")
    with tether.stdout as announced:
        pid_line = announced.readline()
    if not pid_line:
        _end(tether)
        raise StartError(f"{name} could not be run; {log_path} ends:\n{log_tail(log_path)}")
    return Server(name, int(pid_line), port, log_path, tether)


def _tether(
    command: list[str], directory: Path, environment: Mapping[str, str], log_path: Path
) -> subprocess.Popen[bytes]:
    log_path.parent.mkdir(parents=True, exist_ok=True)
    with log_path.open("ab") as log:
        return subprocess.Popen(
            [sys.executable, "-I", "-S", str(_TETHER_PROGRAM), *command],
            cwd=directory,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            env=dict(environment),
            start_new_session=True,
        )


def _end(tether: subprocess.Popen[bytes]) -> None:
    for pipe in (tether.stdin, tether.stdout):
        if pipe is not None:
            pipe.close()
    try:
        tether.wait(_STOP_TIMEOUT_SECONDS)
    except subprocess.TimeoutExpired:
        for pid in [*kernel.descendants_of(tether.pid), tether.pid]:
            kernel.kill_for_certain(pid, _STOP_TIMEOUT_SECONDS)
        tether.wait()


def _becomes_ready(server: Server, ready: ReadyProbe) -> bool:
    """Whether the server itself, not another program on the same port, answers in time."""
    deadline = time.monotonic() + _READY_TIMEOUT_SECONDS
    while time.monotonic() < deadline:
        if not server.running:
            return False
        if ready(server.port) and kernel.listens_on(server.pid, server.port):
            return True
        time.sleep(_READY_POLL_SECONDS)
    return False
