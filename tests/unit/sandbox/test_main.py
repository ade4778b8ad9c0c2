"""What somebody at the terminal is told when the sandbox cannot go on."""

import os
import signal
import sys
from collections.abc import Iterator

import pytest
from botocore.exceptions import EndpointConnectionError

from sandbox import __main__ as command_line
from sandbox.errors import StartError
from sandbox.interrupts import STOP_SIGNALS


@pytest.fixture(autouse=True)
def surroundings(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(sys, "argv", ["sandbox", "demo"])
    monkeypatch.setattr(sys, "path", [*sys.path])
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.setenv(name, "intranet.example")
    before = {number: signal.getsignal(number) for number in STOP_SIGNALS}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def _run_raises(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    def run(*_arguments: object) -> int:
        raise error

    monkeypatch.setattr(command_line, "_run", run)


@pytest.mark.parametrize(
    "error",
    [
        StartError("[aws] did not start; /a/log ends:\nport 4566 is taken"),
        EndpointConnectionError(endpoint_url="http://127.0.0.1:4566/"),
    ],
    ids=["ours", "of-a-client"],
)
def test_trouble_is_told_in_its_own_words_without_a_trace(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], error: Exception
) -> None:
    _run_raises(monkeypatch, error)

    status = command_line.main()

    told = capsys.readouterr().out
    assert status == 1
    assert str(error) in told
    assert "Traceback" not in told


def test_an_interrupt_ends_it_with_the_shells_status(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _run_raises(monkeypatch, KeyboardInterrupt())

    assert command_line.main() == 130
    assert "everything it started has ended" in capsys.readouterr().out


def test_another_system_is_told_what_is_needed_before_anything_is_started(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _run_raises(monkeypatch, AssertionError("started"))
    monkeypatch.setattr(sys, "platform", "darwin")

    assert command_line.main() == 1
    told = capsys.readouterr().out
    assert "needs Linux" in told
    assert "darwin" in told


def test_clients_made_by_a_command_go_past_a_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []

    def run(*_arguments: object) -> int:
        seen.extend(os.environ["no_proxy"].split(","))
        return 0

    monkeypatch.setattr(command_line, "_run", run)

    assert command_line.main() == 0
    assert seen == ["intranet.example", "127.0.0.1", "localhost"]
