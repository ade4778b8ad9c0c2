"""Runs one command and ends it, with everything it started, when the starter is gone.

`python tether.py COMMAND...`: standard input is the tether. The starter holds the other end of
that pipe; the kernel closes it whenever the starter ends, by SIGKILL too, and then the command's
whole process group is ended. PR_SET_PDEATHSIG would not do: it reaches a direct child only, and
fires when the starting *thread* ends.

The command's pid is written to standard output as one line, then standard output is closed.
The command's own output goes to standard error. Needs the standard library alone, so that it
starts in a few milliseconds.
"""

import ctypes
import os
import select
import signal
import subprocess
import sys
import time
from types import FrameType

_PR_SET_CHILD_SUBREAPER = 36
# Long enough for a server to close its own children, short enough not to be felt.
_TERM_GRACE_SECONDS = 3.0
_POLL_SECONDS = 0.05
_STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def main(command: list[str]) -> int:
    """The command's exit status, once it and all below it have ended."""
    _adopt_orphans()
    wake = _wake_on_stop_signals()
    child = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=sys.stderr, start_new_session=True
    )
    sys.stdout.write(f"{child.pid}\n")
    sys.stdout.close()
    _wait_for_reason_to_stop(child, wake)
    return _end_group(child)


def _adopt_orphans() -> None:
    """Makes grandchildren whose parent died ours, so that they can be waited for."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_CHILD_SUBREAPER) failed")


def _wake_on_stop_signals() -> int:
    wake, woken = os.pipe()

    def on_signal(_number: int, _frame: FrameType | None) -> None:
        os.write(woken, b".")

    for number in _STOP_SIGNALS:
        signal.signal(number, on_signal)
    return wake


def _wait_for_reason_to_stop(child: subprocess.Popen[bytes], wake: int) -> None:
    tether = sys.stdin.fileno()
    while child.poll() is None:
        ready, _, _ = select.select([tether, wake], [], [], _POLL_SECONDS)
        if wake in ready or (tether in ready and not os.read(tether, 1)):
            return


def _end_group(child: subprocess.Popen[bytes]) -> int:
    _signal_group(child.pid, signal.SIGTERM)
    deadline = time.monotonic() + _TERM_GRACE_SECONDS
    while time.monotonic() < deadline and _group_alive(child):
        time.sleep(_POLL_SECONDS)
    _signal_group(child.pid, signal.SIGKILL)
    status = child.wait()
    _reap_adopted(os.WEXITED)
    return status


def _signal_group(group: int, number: int) -> bool:
    try:
        os.killpg(group, number)
    except ProcessLookupError:
        return False
    return True


def _group_alive(child: subprocess.Popen[bytes]) -> bool:
    # Only once our child has been waited for: reaping "any" process would take its status.
    if child.poll() is not None:
        _reap_adopted(os.WEXITED | os.WNOHANG)
    return _signal_group(child.pid, 0)


def _reap_adopted(options: int) -> None:
    """Bounded by the processes adopted: each turn takes one away, none left ends it."""
    while True:
        try:
            if os.waitid(os.P_ALL, 0, options) is None:
                return
        except ChildProcessError:
            return


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
