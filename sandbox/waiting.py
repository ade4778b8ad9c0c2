"""Waiting for what other processes bring about."""

import time
from collections.abc import Callable

from sandbox.errors import SandboxError

# Short against a cold start, long against one HTTP request.
POLL_SECONDS = 0.2


def wait_for[Found](look: Callable[[], Found | None], what: str, timeout_seconds: float) -> Found:
    """The first thing `look` returns that is not None. Raises SandboxError when there is none."""
    deadline = time.monotonic() + timeout_seconds
    while time.monotonic() < deadline:
        found = look()
        if found is not None:
            return found
        time.sleep(POLL_SECONDS)
    raise SandboxError(f"{what}: not within {timeout_seconds:g} s")
