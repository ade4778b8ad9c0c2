"""Ctrl-C and its like: once, through every `finally`, and never into the clearing up."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

# SIGINT too: a shell starts background commands with it ignored.
STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def interrupt_on_stop_signals() -> None:
    """From now on the first of these signals raises KeyboardInterrupt; any later is ignored."""
    for number in STOP_SIGNALS:
        signal.signal(number, _interrupt)


@contextmanager
def undisturbed() -> Iterator[None]:
    """Ignores these signals inside the block, which ends processes and takes seconds.

    SIGQUIT and SIGKILL still end this process at once, and the tethers then end the rest.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread is ever interrupted
        return
    before = {number: signal.signal(number, signal.SIG_IGN) for number in STOP_SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    for number in STOP_SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt
