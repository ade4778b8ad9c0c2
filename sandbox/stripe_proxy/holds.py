"""Requests kept waiting until they are released."""

import asyncio


class Holds:
    """Every request held now; releasing frees them all."""

    def __init__(self) -> None:
        self._waiting: set[asyncio.Event] = set()

    async def wait(self, seconds: float) -> None:
        """Returns when released, or after `seconds`."""
        released = asyncio.Event()
        self._waiting.add(released)
        try:
            async with asyncio.timeout(seconds):
                await released.wait()
        except TimeoutError:
            return
        finally:
            self._waiting.discard(released)

    def release(self) -> int:
        """How many requests were held."""
        for released in self._waiting:
            released.set()
        return len(self._waiting)
