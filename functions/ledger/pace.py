"""How fast an effect is tried again whose provider was not reached."""

from ledger.attempt import Attempt, AttemptOutcome
from ledger.effect import Effect
from ledger.errors import ProviderUnavailable
from ledger.jitter import jittered
from ledger.run import RunLedger

FIRST_PAUSE_SECONDS = 1
# The attempts that an effect may have then outlast an outage of some hours.
MAX_PAUSE_SECONDS = 7200


def begins_at_ms(effect: Effect) -> int | None:
    """Return when the next attempt may begin, None when nothing has to be waited for.

    The pauses double, with full jitter, so that the attempts an effect may have outlast an outage
    of hours, and those of many effects do not come together at its end.
    """
    unreached = unreached_attempts(effect)
    if not unreached:
        return None
    ceiling_seconds = min(FIRST_PAUSE_SECONDS << len(unreached), MAX_PAUSE_SECONDS)
    pause_seconds = jittered(ceiling_seconds, "attempt", effect.effect_id, len(unreached))
    return unreached[-1].claimed_at_ms + pause_seconds * 1000


def pause_left_seconds(effect: Effect, now_ms: int) -> int:
    """Return how long the next attempt still has to wait, rounded up; 0 when it may begin."""
    at_ms = begins_at_ms(effect)
    return max(0, -(-(at_ms - now_ms) // 1000)) if at_ms is not None else 0


def held_back_seconds(ledger: RunLedger, now_ms: int) -> int:
    """Return how long the writes that a run goes on to have to wait; 0 when they need not."""
    return max((pause_left_seconds(found, now_ms) for found in ledger.to_be_made()), default=0)


def check_pace(effect: Effect, now_ms: int) -> None:
    """Raise ProviderUnavailable while a provider that was not reached is given time."""
    left_seconds = pause_left_seconds(effect, now_ms)
    if left_seconds:
        raise ProviderUnavailable(
            f"{effect.provider} was not reached {len(unreached_attempts(effect))} times; the next "
            f"attempt waits another {left_seconds} s. Nothing was sent."
        )


def unreached_attempts(effect: Effect) -> list[Attempt]:
    """Return the attempts that never reached the provider."""
    return [
        found for found in effect.counted_attempts if found.outcome is AttemptOutcome.NOT_REACHED
    ]
