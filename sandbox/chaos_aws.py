"""An embedded AWS that keeps its state, and goes down and comes back when it is told to."""

import os
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

import httpx

from sandbox import aws
from sandbox.aws import endpoint
from sandbox.processes import ReadyProbe, Server, start_server
from sandbox.waiting import wait_for

_EMULATOR = Path(__file__).with_name("chaos_emulator.py")
# Of the emulator's source: what makes it save on its way down and read on its way up.
_KEEPS = {"PERSIST_STATE": "1", "S3_PERSIST": "1"}
_RESTART = "CHAOS_RESTART"
# Saving takes a second; requests in the air are given some before.
_RESTART_TIMEOUT_SECONDS = 90.0
_PROBE_TIMEOUT_SECONDS = 2.0
# As the emulator words it in its log.
_NOT_SAVED = ("Persistence: failed to", "Persistence: error getting", "Failed to restore persisted")


class KeptAws:
    """The AWS of the sandbox that is built inside `keeping_its_state`."""

    def __init__(self) -> None:
        self._server: Server | None = None

    @property
    def pid(self) -> int:
        """The same through every restart. Raises RuntimeError before it is started."""
        return self._started().pid

    def restart(self) -> None:
        """Ends it with its workers and brings it back. Raises SandboxError without an answer."""
        server = self._started()
        wanted = _restart_file(server.log_path)
        wanted.touch()
        os.kill(server.pid, signal.SIGTERM)
        wait_for(lambda: None if wanted.exists() else True, "its end", _RESTART_TIMEOUT_SECONDS)
        wait_for(lambda: _answers(server.port) or None, "its return", _RESTART_TIMEOUT_SECONDS)

    def lost_state(self) -> list[str]:
        """Lines of its log that say that something was not saved or not read back."""
        lines = self._started().log_path.read_text(errors="replace").splitlines()
        return [line for line in lines if any(words in line for words in _NOT_SAVED)]

    def start(
        self,
        name: str,
        command: Callable[[int], list[str]],
        environment: Callable[[int], Mapping[str, str]],
        ready: ReadyProbe,
        log_path: Path,
    ) -> Server:
        """As `processes.start_server`, but the emulator is run by what can restart it."""
        kept = {
            **_KEEPS,
            "S3_DATA_DIR": str(log_path.with_name("aws-objects")),
            _RESTART: str(_restart_file(log_path)),
        }
        self._server = start_server(
            name=name,
            command=lambda port: [command(port)[0], "-P", str(_EMULATOR)],
            environment=lambda port: {**environment(port), **kept},
            ready=ready,
            log_path=log_path,
        )
        return self._server

    def _started(self) -> Server:
        if self._server is None:
            raise RuntimeError("no AWS was started")
        return self._server


@contextmanager
def keeping_its_state() -> Iterator[KeptAws]:
    """A sandbox that is built inside has this AWS, and is otherwise as every other."""
    kept = KeptAws()
    # The one difference to a usual sandbox.
    with patch.object(aws, "start_server", kept.start):
        yield kept


def _restart_file(log_path: Path) -> Path:
    return log_path.with_name("aws-restart")


def _answers(port: int) -> bool:
    try:
        found = httpx.get(
            f"{endpoint(port)}/_ministack/health", timeout=_PROBE_TIMEOUT_SECONDS, trust_env=False
        )
    except httpx.HTTPError:
        return False
    return found.is_success
