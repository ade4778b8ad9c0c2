"""What the functions log, kept for a look at it."""

from collections.abc import Iterator
from contextlib import contextmanager
from logging import StreamHandler
from typing import TextIO

from runtime import log as runtime_log


@contextmanager
def log_into(stream: TextIO) -> Iterator[None]:
    """Send log lines to ``stream`` for the time being."""
    handler = runtime_log._logger.registered_handler
    if not isinstance(handler, StreamHandler):
        raise TypeError("The functions log into no stream; nobody could look at it.")
    before = handler.setStream(stream)
    try:
        yield
    finally:
        if before is not None:
            handler.setStream(before)
