"""When somebody has to look at a run again. The one place that computes ``due_at_ms``."""

from ledger.effect import Effect
from ledger.jitter import jittered
from ledger.pace import held_back_seconds
from ledger.run import RunLedger
from ledger.transitions import EffectState, RunState

# The start call and the first Lambda take seconds; a minute later something was lost.
START_DEADLINE_SECONDS = 60
# A run in review waits for a person; once a day is a reminder, more is noise.
REVIEW_REMINDER_SECONDS = 24 * 3600
# Every commit moves the due time on by at least this, so one tick gives a run to one sweeper.
MIN_LOOK_INTERVAL_SECONDS = 30
# At most so long until the first look after an unfinished record; doubles with every read.
FIRST_READ_WAIT_SECONDS = 5
# A provider that is down for long, or that cannot be asked at all, is not asked more often.
MAX_READ_WAIT_SECONDS = 6 * 3600


def read_wait_seconds(effect: Effect) -> int:
    """Return how long to wait after a read that settled nothing: doubling, capped, full jitter.

    Effects that met one outage are so not all read again at one moment.
    """
    doublings = min(effect.reconcile_reads, 13)  # past the cap already, and no number grows large
    ceiling_seconds = min(FIRST_READ_WAIT_SECONDS << doublings, MAX_READ_WAIT_SECONDS)
    return jittered(ceiling_seconds, "read", effect.effect_id, effect.reconcile_reads)


def next_look_at_ms(ledger: RunLedger, now_ms: int) -> int | None:
    """Return when the sweeper should look, None when nothing is left to look after.

    A run that has ended is looked after as long as an owner may still take its word back.
    """
    rechecks = [
        effect.recheck_at_ms()
        for effect in ledger.effects
        if not ledger.is_undone(effect.effect_id)
    ]
    looks = [at for at in rechecks if at is not None]
    if ledger.run.is_open:
        looks.append(_wanted_look_at_ms(ledger, now_ms))
    soonest = now_ms + MIN_LOOK_INTERVAL_SECONDS * 1000
    return max(soonest, min(looks)) if looks else None


def _wanted_look_at_ms(ledger: RunLedger, now_ms: int) -> int:
    run = ledger.run
    looks = [_effect_look_at_ms(effect, now_ms) for effect in ledger.unsettled_effects()]
    pending = ledger.pending_approval()
    if run.state is RunState.AWAITING_APPROVAL and pending is not None:
        return min([*looks, pending.expires_at_ms])
    if looks and (run.state is RunState.ACTIVE or run.review_recovers):
        return min(looks)
    if run.state is RunState.REVIEW:
        # A claim is looked at even now: what its worker left behind must not stay "attempting".
        # So is a key before it lapses, or the person who looks would learn of it afterwards.
        claims = [
            _lapses_at_ms(found, now_ms)
            for found in ledger.effects
            if found.state is EffectState.ATTEMPTING
        ]
        owed = [found.key_notice_owed_at_ms() for found in ledger.effects]
        notices = [at_ms for at_ms in owed if at_ms is not None]
        return min([*claims, *notices, now_ms + REVIEW_REMINDER_SECONDS * 1000])
    if not run.execution_started:
        return max(now_ms + START_DEADLINE_SECONDS * 1000, run.start_not_before_ms)
    # While the next attempt is held back no execution could get any further, a new one included.
    pause_seconds = held_back_seconds(ledger, now_ms)
    return now_ms + (pause_seconds + run.progress_deadline_seconds) * 1000


def _effect_look_at_ms(effect: Effect, now_ms: int) -> int:
    if effect.state is EffectState.ATTEMPTING and effect.last_attempt is not None:
        return _lapses_at_ms(effect, now_ms)
    looks = [now_ms + read_wait_seconds(effect) * 1000]
    overdue_at_ms = effect.overdue_at_ms()
    if overdue_at_ms is not None and overdue_at_ms > now_ms:
        looks.append(overdue_at_ms)
    # Also when it is past: a read that died on its way has told nobody, and an hour is soon over.
    notice_at_ms = effect.key_notice_owed_at_ms()
    if notice_at_ms is not None:
        looks.append(notice_at_ms)
    return min(looks)


def _lapses_at_ms(effect: Effect, now_ms: int) -> int:
    """Return when a claim lapses; one that was made by a clock far ahead has lapsed already."""
    return effect.attempts[-1].lease_until_ms if effect.claim_is_live(now_ms) else now_ms
