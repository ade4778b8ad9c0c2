"""Breakers in memory, true to the same contract: for tests, not for keeping."""

from threading import Lock

from ledger.breaker import Breaker


class MemoryBreakers:
    """``ledger.breaker.Breakers`` that live as long as the process."""

    def __init__(self) -> None:
        """Start without any."""
        self._lock = Lock()
        self._stored: dict[str, Breaker] = {}

    def load(self, provider: str) -> Breaker | None:
        """Return the newest."""
        with self._lock:
            return self._stored.get(provider)

    def save(self, breaker: Breaker) -> bool:
        """Return whether nobody else has stored one since."""
        with self._lock:
            known = self._stored.get(breaker.provider)
            if (known.revision if known else 0) != breaker.revision:
                return False
            stored = breaker.model_copy(update={"revision": breaker.revision + 1})
            self._stored[breaker.provider] = stored
            return True
