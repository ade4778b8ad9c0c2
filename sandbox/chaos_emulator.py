"""The embedded AWS as one process that can lose all it has in memory, and return with its state.

Run by its path. Told to end while the file that RESTART names exists, it saves its state, ends
every worker below it, as a machine that goes down does, and begins anew under the same process id:
its tether, its port and the faults that may kill below it stay right.

Two things the emulator leaves out on its way, and this adds: it saves no accepted mail, which is
part of the books; and it fails the executions that it was running without the event that AWS sends.
"""

import os
import signal
import socket
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

# Imported, as the emulator is run, under the name that its own requests will look for.
from ministack.app import main
from ministack.core import persistence
from ministack.core.responses import now_iso
from ministack.services import ses, stepfunctions

# In the environment and no argument: the emulator reads the arguments itself.
RESTART = "CHAOS_RESTART"
_MAIL = "chaos_mail"
# A thread that still serves may start a worker after the others were ended.
_ROUNDS = 3
_INTERRUPTED = "States.ServiceRestart"
_READY_TIMEOUT_SECONDS = 60.0
_POLL_SECONDS = 0.1


def run() -> None:
    """One life of the emulator, and the next where one is wanted."""
    sent: Any = ses._sent_emails
    sent.update((persistence.load_state(_MAIL) or {}).get("sent", {}))
    threading.Thread(target=_tell_of_interrupted, args=(now_iso(),), daemon=True).start()
    main()
    wanted = Path(os.environ[RESTART])
    if wanted.exists():
        for _ in range(_ROUNDS):
            _end_workers()
        persistence.save_state(_MAIL, {"sent": sent})
        wanted.unlink()
        os.execv(sys.executable, sys.orig_argv)  # noqa: S606  a shell would be another process


def _tell_of_interrupted(since: str) -> None:
    """Sends the event of each execution that this start has failed, once it can be acted on."""
    deadline = time.monotonic() + _READY_TIMEOUT_SECONDS
    address = (os.environ["BIND_HOST"], int(os.environ["GATEWAY_PORT"]))
    with socket.socket() as probe:
        while probe.connect_ex(address) != 0 and time.monotonic() < deadline:
            time.sleep(_POLL_SECONDS)
    executions: Any = stepfunctions._executions
    for execution in list(executions.all_values()):
        if execution.get("error") == _INTERRUPTED and execution["stopDate"] >= since:
            stepfunctions._emit_execution_status_event(execution)


def _end_workers() -> None:
    """Each child is killed once and waited for; the emulator may have done either itself."""
    for pid in _children():
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        with suppress(ChildProcessError):
            os.waitpid(pid, 0)


def _children() -> set[int]:
    found: set[int] = set()
    for thread in Path("/proc/self/task").iterdir():
        with suppress(FileNotFoundError):
            found.update(map(int, (thread / "children").read_text().split()))
    return found


if __name__ == "__main__":
    run()
