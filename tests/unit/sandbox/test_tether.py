"""Whatever happens to the starter, nothing that it started stays behind."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox import kernel
from sandbox.processes import run_command
from sandbox.surroundings import clean_environment

PROJECT = Path(__file__).parents[3]
_TIMEOUT_SECONDS = 60

# Starts a child that ignores SIGTERM, tells both pids, and waits.
_STUBBORN_FAMILY = """
    import os, signal, subprocess, sys, time
    child = subprocess.Popen([sys.executable, "-c",
        "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"])
    print(os.getpid(), child.pid, flush=True)
    open(sys.argv[1], "w").write(f"{os.getpid()} {child.pid}")
    time.sleep(float(sys.argv[2]))
"""

# Runs the family as a server does, until it is killed itself.
_STARTER = """
    import signal, sys
    from pathlib import Path
    from sandbox.processes import run_command
    # Ignored where these tests themselves run in the background of a shell.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    run_command(sys.argv[1:], Path.cwd(), {}, Path(sys.argv[-2] + ".log"), 600)
"""


@pytest.fixture
def pid_file(tmp_path: Path) -> Path:
    return tmp_path / "pids"


@pytest.fixture
def starter(pid_file: Path) -> Iterator[subprocess.Popen[bytes]]:
    family = [sys.executable, "-c", textwrap.dedent(_STUBBORN_FAMILY), str(pid_file), "600"]
    command = [sys.executable, "-c", textwrap.dedent(_STARTER), *family]
    process = subprocess.Popen(command, cwd=PROJECT)
    yield process
    process.kill()
    process.wait()


def test_starter_killed_outright_leaves_no_process(
    starter: subprocess.Popen[bytes], pid_file: Path
) -> None:
    family = _family(pid_file)
    assert all(_alive(pid) for pid in family)

    starter.send_signal(signal.SIGKILL)
    starter.wait()

    _until_gone(family)


def test_starter_interrupted_leaves_no_process(
    starter: subprocess.Popen[bytes], pid_file: Path
) -> None:
    family = _family(pid_file)

    starter.send_signal(signal.SIGINT)
    starter.wait(_TIMEOUT_SECONDS)

    assert not any(_alive(pid) for pid in family)


def test_command_that_ends_leaves_no_child_and_its_status_is_returned(
    tmp_path: Path, pid_file: Path
) -> None:
    family = [sys.executable, "-c", textwrap.dedent(_STUBBORN_FAMILY), str(pid_file), "0"]

    status = run_command(family, tmp_path, clean_environment(), tmp_path / "log", _TIMEOUT_SECONDS)

    assert status == 0
    assert not any(_alive(pid) for pid in _family(pid_file))


def test_command_out_of_time_is_ended(tmp_path: Path, pid_file: Path) -> None:
    family = [sys.executable, "-c", textwrap.dedent(_STUBBORN_FAMILY), str(pid_file), "600"]
    before = set(kernel.descendants_of(os.getpid()))  # servers that other tests keep

    with pytest.raises(subprocess.TimeoutExpired):
        run_command(family, tmp_path, clean_environment(), tmp_path / "log", timeout_seconds=2)

    assert set(kernel.descendants_of(os.getpid())) <= before


def _family(pid_file: Path) -> list[int]:
    """The pids of the command and its child, once both run."""
    for _ in range(_TIMEOUT_SECONDS * 20):
        pids = pid_file.read_text().split() if pid_file.exists() else []
        if len(pids) == 2:
            return [int(pid) for pid in pids]
        time.sleep(0.05)
    raise AssertionError("the family did not start")


def _alive(pid: int) -> bool:
    return kernel.parent_of(pid) is not None


def _until_gone(pids: list[int]) -> None:
    for _ in range(_TIMEOUT_SECONDS * 20):
        if not any(_alive(pid) for pid in pids):
            return
        time.sleep(0.05)
    raise AssertionError(f"still there: {[pid for pid in pids if _alive(pid)]}")
