"""The edge of the process: what a failure may show to the service that called us."""

from collections.abc import Iterator
from contextlib import contextmanager

from ledger.errors import LedgerError
from runtime.log import log_failure
from runtime.metrics import flush


class Crashed(Exception):
    """Something failed that is not part of the error tree; its own text stays inside.

    The text of a foreign error may quote a request or an address, and what a function raises ends
    in execution histories and logs.
    """


@contextmanager
def boundary(message: str, **facts: str | int) -> Iterator[None]:
    """Let our own errors through by name; turn every other into Crashed, without its text.

    Whatever the end, what was measured on the way is said.
    """
    try:
        yield
    except LedgerError as error:
        log_failure(message, error, **facts)
        raise
    except Exception as error:  # noqa: BLE001  raised on, without its text
        log_failure(message, error, **facts)
        raise Crashed(f"{message}: {type(error).__name__}; see the log for its place.") from None
    finally:
        flush()
