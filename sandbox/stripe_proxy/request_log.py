"""Every request the provider saw, with its exact body."""

from collections import deque
from dataclasses import asdict, dataclass
from typing import Any

# Far above any test's traffic; a sandbox left up for days must not grow without end.
_MAX_ENTRIES = 10_000


@dataclass
class LoggedRequest:
    """One request. Credentials are left out."""

    sequence: int
    received_at_ms: int
    method: str
    path: str
    query: str
    idempotency_key: str | None
    body: str
    status: int | None = None
    """The status sent; None when the answer was never sent."""
    replayed: bool = False
    fault: str | None = None


class RequestLog:
    """The newest requests, oldest first."""

    def __init__(self) -> None:
        self._entries: deque[LoggedRequest] = deque(maxlen=_MAX_ENTRIES)
        self._sequence = 0

    def add(
        self, received_at_ms: int, method: str, path: str, query: str, key: str | None, body: str
    ) -> LoggedRequest:
        self._sequence += 1
        entry = LoggedRequest(self._sequence, received_at_ms, method, path, query, key, body)
        self._entries.append(entry)
        return entry

    def clear(self) -> None:
        self._entries.clear()

    def matching(self, method: str | None, path: str | None) -> list[dict[str, Any]]:
        """The entries with this method and path, where given."""
        return [
            asdict(entry)
            for entry in self._entries
            if method in (None, entry.method) and path in (None, entry.path)
        ]
