"""Randomness that depends on the seed and on who asks, so that nobody disturbs anybody."""

from random import Random
from zlib import crc32

_MASK = (1 << 64) - 1
_MULTIPLIER = 6364136223846793005
_INCREMENT = 1442695040888963407
_MIXERS = (0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
_TOP_BITS = 11  # a float holds 53 of the 64
_SCALE = 2.0**-53


class Dice:
    """A linear congruential generator, mixed once: each world makes dozens, each for a few throws.

    The library's own takes longer to seed than most of them live.
    """

    __slots__ = ("_state",)

    def __init__(self, seed: int, who: str) -> None:
        """Begin where the seed and the name say."""
        state = (seed * _MULTIPLIER + (crc32(who.encode()) << 20)) & _MASK
        for mixer in _MIXERS:
            state = ((state ^ (state >> 29)) * mixer) & _MASK
        self._state = state ^ (state >> 32)

    def random(self) -> float:
        """Return the next number, 0 included and 1 not."""
        self._state = (self._state * _MULTIPLIER + _INCREMENT) & _MASK
        return (self._state >> _TOP_BITS) * _SCALE

    def within(self, low: int, high: int) -> int:
        """Return a whole number, ``low`` included and ``high`` not."""
        return low + int(self.random() * (high - low))


def world_dice(seed: int) -> Random:
    """Return the randomness of a world as a whole."""
    return Random(seed)  # noqa: S311  schedules, not secrets
