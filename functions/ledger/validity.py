"""What was given for a time only: until when it is to be had, by design and as it was told."""

from collections.abc import Mapping
from datetime import UTC, datetime

from ledger.record import Scalar

VALID_UNTIL = "valid_until_ms"
"""The bound field that says so. What a write without it did has no end."""

_ZONE = " UTC"


def valid_until_ms(bound: Mapping[str, Scalar]) -> int | None:
    """Return until when what a write gave is to be had, None for what has no end."""
    until_ms = bound.get(VALID_UNTIL)
    return until_ms if isinstance(until_ms, int) else None


def has_ended(bound: Mapping[str, Scalar], now_ms: int) -> bool:
    """Return whether what a write gave is not to be had any more."""
    until_ms = valid_until_ms(bound)
    return until_ms is not None and now_ms >= until_ms


def told_moment(at_ms: int) -> str:
    """Return a moment as people are told it, to the millisecond where it has any."""
    seconds, milliseconds = divmod(at_ms, 1000)
    moment = datetime.fromtimestamp(seconds, UTC).replace(microsecond=milliseconds * 1000)
    parts = "milliseconds" if milliseconds else "seconds"
    return moment.replace(tzinfo=None).isoformat(" ", parts) + _ZONE


def moment_of(told: str) -> int:
    """Return the moment that ``told_moment`` has told. Raises ValueError for another text."""
    moment = datetime.fromisoformat(told.removesuffix(_ZONE)).replace(tzinfo=UTC)
    return round(moment.timestamp() * 1000)
