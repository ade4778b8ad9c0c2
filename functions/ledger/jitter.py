"""Full jitter: what failed together must not come back together.

It is drawn from ids, which are digests, and not from a random number: everybody who asks how long
one effect waits, now or when the trail is read again, is told the same.
"""

import hashlib

DRAWN_BYTES = 8


def jittered(ceiling: int, *drawn_from: str | int) -> int:
    """Return a number from 1 to ``ceiling``, evenly spread over what it is drawn from."""
    digest = hashlib.sha256("/".join(map(str, drawn_from)).encode()).digest()
    drawn = int.from_bytes(digest[:DRAWN_BYTES])
    return 1 + (drawn * ceiling >> (8 * DRAWN_BYTES))
