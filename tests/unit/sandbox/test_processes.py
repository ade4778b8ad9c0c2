"""A server is ready only when it, and no other program, answers on its port."""

import http.server
import sys
import threading
from pathlib import Path

import httpx
import pytest

from sandbox import processes
from sandbox.errors import StartError
from sandbox.ports import free_port
from sandbox.processes import Server, start_server
from sandbox.surroundings import clean_environment

_SERVE = [sys.executable, "-m", "http.server", "--bind", "127.0.0.1"]


def _answers(port: int) -> bool:
    try:
        return httpx.get(f"http://127.0.0.1:{port}/", trust_env=False).is_success
    except httpx.HTTPError:
        return False


def _start(directory: Path) -> Server:
    return start_server(
        name="files",
        command=lambda port: [*_SERVE, str(port)],
        environment=lambda _port: clean_environment(),
        ready=_answers,
        log_path=directory / "files.log",
    )


def test_server_answers_until_it_is_stopped(tmp_path: Path) -> None:
    server = _start(tmp_path)
    try:
        assert _answers(server.port)
    finally:
        server.stop()

    assert not server.running
    assert not _answers(server.port)
    assert not Path(f"/proc/{server.pid}").exists()


def test_port_taken_by_another_program_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = http.server.ThreadingHTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler)
    threading.Thread(target=other.serve_forever, daemon=True).start()
    offered = iter([other.server_port])
    monkeypatch.setattr(processes, "free_port", lambda: next(offered, None) or free_port())

    server = _start(tmp_path)
    try:
        # The other program answered the probe; it is not taken for ours.
        assert server.port != other.server_port
        assert _answers(server.port)
    finally:
        server.stop()
        other.shutdown()
        other.server_close()


def test_server_that_ends_at_once_is_reported_with_its_last_words(tmp_path: Path) -> None:
    with pytest.raises(StartError, match="no such configuration"):
        start_server(
            name="broken",
            command=lambda _port: [sys.executable, "-c", "exit('no such configuration')"],
            environment=lambda _port: clean_environment(),
            ready=_answers,
            log_path=tmp_path / "broken.log",
        )


def test_command_that_does_not_exist_is_reported(tmp_path: Path) -> None:
    with pytest.raises(StartError, match="could not be run"):
        start_server(
            name="missing",
            command=lambda _port: [str(tmp_path / "missing")],
            environment=lambda _port: clean_environment(),
            ready=_answers,
            log_path=tmp_path / "missing.log",
        )
