"""When the sweeper looks: soon after something is owed, seldom when only a person can help."""

import pytest

from ledger.due import (
    FIRST_READ_WAIT_SECONDS,
    MAX_READ_WAIT_SECONDS,
    MIN_LOOK_INTERVAL_SECONDS,
    REVIEW_REMINDER_SECONDS,
    START_DEADLINE_SECONDS,
    next_look_at_ms,
    read_wait_seconds,
)
from ledger.run import RunLedger
from ledger.transitions import EffectState, RunState
from tests.builders import NOW_MS, a_run, an_approval, an_attempt
from tests.unit.ledger.sample import RECOVERY_DEADLINE_SECONDS, a_refund

ACTIVE = a_run(execution_started=True)
REVIEW = a_run(state=RunState.REVIEW, execution_started=True)


def seconds_until_look(ledger: RunLedger) -> float | None:
    """Return how long from now the sweeper looks."""
    at_ms = next_look_at_ms(ledger, NOW_MS)
    return None if at_ms is None else (at_ms - NOW_MS) / 1000


@pytest.mark.parametrize("state", [RunState.COMPLETED, RunState.CLOSED])
def test_an_ended_run_is_never_due(state: RunState) -> None:
    assert seconds_until_look(RunLedger(run=a_run(state=state))) is None


@pytest.mark.parametrize("state", [RunState.ACTIVE, RunState.AWAITING_APPROVAL, RunState.REVIEW])
def test_every_open_run_is_due_some_day(state: RunState) -> None:
    assert seconds_until_look(RunLedger(run=a_run(state=state))) is not None


def test_a_run_whose_execution_has_not_reported_in_is_looked_after_soon() -> None:
    assert seconds_until_look(RunLedger(run=a_run())) == START_DEADLINE_SECONDS


def test_a_run_that_is_worked_on_is_due_at_its_progress_deadline() -> None:
    run = ACTIVE.model_copy(update={"progress_deadline_seconds": 777})

    assert seconds_until_look(RunLedger(run=run)) == 777


def test_a_run_that_waits_for_a_person_is_due_when_the_request_runs_out() -> None:
    run = a_run(state=RunState.AWAITING_APPROVAL)
    approval = an_approval(checkpoint="request_approved", expires_at_ms=NOW_MS + 3_600_000)

    assert seconds_until_look(RunLedger(run=run, approvals=(approval,))) == 3600


def test_an_unsettled_effect_is_read_though_the_run_waits_for_a_person() -> None:
    run = a_run(state=RunState.AWAITING_APPROVAL)
    approval = an_approval(checkpoint="request_approved", expires_at_ms=NOW_MS + 3_600_000)
    effect = a_refund(EffectState.UNKNOWN, reconcile_reads=4, unsettled_since_ms=NOW_MS)

    ledger = RunLedger(run=run, approvals=(approval,), effects=(effect,))

    assert seconds_until_look(ledger) == read_wait_seconds(effect)


def test_a_review_is_only_a_daily_reminder() -> None:
    effect = a_refund(EffectState.UNKNOWN, unsettled_since_ms=NOW_MS)

    assert seconds_until_look(RunLedger(run=REVIEW)) == REVIEW_REMINDER_SECONDS
    assert seconds_until_look(RunLedger(run=REVIEW, effects=(effect,))) == REVIEW_REMINDER_SECONDS


def test_a_review_that_can_end_by_itself_is_looked_after_by_its_effect() -> None:
    run = REVIEW.model_copy(update={"review_recovers": True})
    effect = a_refund(EffectState.UNKNOWN, reconcile_reads=4, unsettled_since_ms=0)

    assert seconds_until_look(RunLedger(run=run, effects=(effect,))) == read_wait_seconds(effect)


def test_a_live_claim_is_looked_at_when_it_ends() -> None:
    attempt = an_attempt(lease_until_ms=NOW_MS + 45_000)
    effect = a_refund(EffectState.ATTEMPTING, attempts=(attempt,))

    assert seconds_until_look(RunLedger(run=ACTIVE, effects=(effect,))) == 45


def test_the_earliest_of_several_unsettled_effects_decides() -> None:
    soon = a_refund(EffectState.ATTEMPTING, attempts=(an_attempt(lease_until_ms=NOW_MS + 45_000),))
    late = a_refund(EffectState.UNKNOWN, effect_id="eff_b", reconcile_reads=8, unsettled_since_ms=0)

    assert seconds_until_look(RunLedger(run=ACTIVE, effects=(late, soon))) == 45


@pytest.mark.parametrize("lease_until_ms", [0, NOW_MS, NOW_MS + 1000])
def test_every_write_gives_the_run_to_one_sweeper_for_a_while(lease_until_ms: int) -> None:
    attempt = an_attempt(lease_until_ms=lease_until_ms)
    effect = a_refund(EffectState.ATTEMPTING, attempts=(attempt,))

    found = seconds_until_look(RunLedger(run=ACTIVE, effects=(effect,)))

    assert found == MIN_LOOK_INTERVAL_SECONDS


def test_a_deadline_that_comes_before_the_next_read_is_not_slept_through() -> None:
    effect = a_refund(
        EffectState.UNKNOWN,
        reconcile_reads=9,
        unsettled_since_ms=NOW_MS - (RECOVERY_DEADLINE_SECONDS - 100) * 1000,
    )

    assert seconds_until_look(RunLedger(run=ACTIVE, effects=(effect,))) == 100


def test_a_deadline_that_has_passed_does_not_hurry_the_reads() -> None:
    effect = a_refund(EffectState.UNKNOWN, reconcile_reads=9, unsettled_since_ms=0)

    found = seconds_until_look(RunLedger(run=ACTIVE, effects=(effect,)))

    assert found == read_wait_seconds(effect) > MIN_LOOK_INTERVAL_SECONDS


def test_waits_between_reads_double_up_to_a_limit_and_never_overflow() -> None:
    longest = [max(waits_of_many(reads)) for reads in range(40)]

    assert longest[:4] == [5, 10, 20, 40]
    assert longest[:13] == sorted(longest[:13])
    for found in longest[13:]:
        assert 0.98 * MAX_READ_WAIT_SECONDS < found <= MAX_READ_WAIT_SECONDS


def test_effects_that_lost_their_answers_together_are_not_read_together() -> None:
    waits = waits_of_many(12)

    assert len(set(waits)) > 0.9 * len(waits)
    assert abs(sum(waits) / len(waits) - FIRST_READ_WAIT_SECONDS * 2**12 / 2) < 1_000


def waits_of_many(reads: int) -> list[int]:
    """Return how long each of many effects waits after so many reads."""
    return [
        read_wait_seconds(
            a_refund(EffectState.UNKNOWN, effect_id=f"eff_{number}", reconcile_reads=reads)
        )
        for number in range(500)
    ]
