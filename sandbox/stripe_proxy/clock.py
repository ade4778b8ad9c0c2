"""The provider's clock: this machine's, moved forward on request."""

import time
from collections.abc import Callable


class Clock:
    """Seconds since the epoch, plus what it was advanced by."""

    def __init__(self, system_time: Callable[[], float] = time.time) -> None:
        self._system_time = system_time
        self.offset_seconds = 0.0

    def now(self) -> float:
        return self._system_time() + self.offset_seconds

    def now_ms(self) -> int:
        return int(self.now() * 1000)

    def advance(self, seconds: float) -> None:
        self.offset_seconds += seconds

    def reset(self) -> None:
        self.offset_seconds = 0.0
