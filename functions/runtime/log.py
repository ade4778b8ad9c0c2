"""One structured logger. What is logged is named here; events and payloads never are."""

from collections.abc import Mapping

from aws_lambda_powertools import Logger

from ledger.errors import LedgerError

# Everything a log line may carry besides what Powertools adds. Ids are opaque; none of these
# holds personal data.
ALLOWED_KEYS = frozenset(
    {
        "run_id",
        "epoch",
        "stage",
        "next",
        "wait_seconds",
        "outcome",
        "error",
        "reason",
        "problem",
        "shard",
        "count",
        "status",
        "actor_id",
        "action",
        "target",
        "approval_id",
        "effect_id",
        "provider",
        "records",
        "at",
    }
)

_logger = Logger(log_uncaught_exceptions=False)


def log(message: str, **facts: str | int) -> None:
    """Write one line. Raises ValueError for a fact that is not allowed to be logged."""
    _check(facts)
    _logger.info(message, extra=facts)


def log_failure(message: str, error: Exception, **facts: str | int) -> None:
    """Write one line about a failure.

    Only our own errors are quoted, for they are written to be; another's text may repeat its
    input, so its class and place must do.
    """
    what: dict[str, str | int] = {"error": type(error).__name__, **facts}
    if isinstance(error, LedgerError):
        # Waiting, reviewing and refusing are how the ledger works: no error of the system.
        what["reason"] = str(error)
        log(message, **what)
        return
    what["at"] = _place(error)
    _check(what)
    _logger.error(message, extra=what)


def _check(facts: Mapping[str, str | int]) -> None:
    forbidden = sorted(set(facts) - ALLOWED_KEYS)
    if forbidden:
        raise ValueError(f"These facts may not be logged: {forbidden}")


def _place(error: Exception) -> str:
    trace = error.__traceback__
    if trace is None:
        return "unknown"
    while trace.tb_next is not None:  # bounded by the interpreter's own stack limit
        trace = trace.tb_next
    return f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}"
