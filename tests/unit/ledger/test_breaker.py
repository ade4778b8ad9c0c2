"""When a provider is left alone, and how it is taken up again."""

import pytest

from ledger.breaker import (
    Admission,
    Breaker,
    admission,
    after_answer,
    after_failure,
    counts_as_failure,
    probing,
)
from ledger.contract import BreakerLimits, FaultKind
from providers.contracts import CONTRACTS

LIMITS = BreakerLimits(failures=3, window_seconds=60, open_seconds=30, probes=2)
CLOSED = Breaker(provider="payments")
NOW_MS = 1_000_000
OPEN_MS = 30_000


def failed(*times_ms: int, breaker: Breaker = CLOSED) -> Breaker:
    """Return the breaker after failures at these times."""
    for at_ms in times_ms:
        breaker = after_failure(breaker, LIMITS, at_ms)
    return breaker


OPEN = failed(NOW_MS, NOW_MS, NOW_MS)
OVER_MS = NOW_MS + OPEN_MS


def test_given_fewer_failures_than_the_limit_when_asked_then_calls_pass() -> None:
    assert admission(failed(NOW_MS, NOW_MS), NOW_MS) is Admission.PASS


def test_given_so_many_failures_in_a_window_when_asked_then_nothing_passes_for_a_while() -> None:
    assert admission(OPEN, NOW_MS) is Admission.HELD_BACK
    assert admission(OPEN, OVER_MS - 1) is Admission.HELD_BACK
    assert admission(OPEN, OVER_MS) is Admission.PROBE


def test_given_failures_spread_over_more_than_a_window_when_counted_then_it_stays_closed() -> None:
    spread = failed(NOW_MS, NOW_MS + 30_000, NOW_MS + 60_000, NOW_MS + 90_000)

    assert admission(spread, NOW_MS + 90_000) is Admission.PASS
    assert spread.failures_at_ms == (NOW_MS + 60_000, NOW_MS + 90_000)


def test_given_a_closed_breaker_when_a_call_is_answered_then_nothing_is_to_be_stored() -> None:
    breaker = failed(NOW_MS)

    assert after_answer(breaker, LIMITS, NOW_MS) is breaker


@pytest.mark.parametrize("after", [after_failure, after_answer])
def test_given_an_open_breaker_when_an_older_call_ends_then_nothing_changes(after: object) -> None:
    assert after(OPEN, LIMITS, OVER_MS - 1) is OPEN  # type: ignore[operator]


def test_given_a_probe_under_way_when_another_asks_then_it_is_held_back() -> None:
    probed = probing(OPEN, LIMITS, OVER_MS)

    assert admission(probed, OVER_MS) is Admission.HELD_BACK


def test_given_a_probe_that_never_ended_when_its_time_is_over_then_another_takes_its_place() -> (
    None
):
    probed = probing(OPEN, LIMITS, OVER_MS)

    assert admission(probed, OVER_MS + OPEN_MS - 1) is Admission.HELD_BACK
    assert admission(probed, OVER_MS + OPEN_MS) is Admission.PROBE


def test_given_a_probe_that_fails_when_asked_then_it_is_open_as_long_again() -> None:
    probed = probing(OPEN, LIMITS, OVER_MS)

    again = after_failure(probed, LIMITS, OVER_MS + 10)

    assert admission(again, OVER_MS + 10 + OPEN_MS - 1) is Admission.HELD_BACK
    assert admission(again, OVER_MS + 10 + OPEN_MS) is Admission.PROBE


def test_given_probes_that_are_answered_when_they_are_enough_then_calls_pass_and_count_anew() -> (
    None
):
    once = after_answer(probing(OPEN, LIMITS, OVER_MS), LIMITS, OVER_MS + 10)
    assert admission(once, OVER_MS + 10) is Admission.PROBE

    closed = after_answer(probing(once, LIMITS, OVER_MS + 10), LIMITS, OVER_MS + 20)

    assert closed == CLOSED
    assert admission(failed(OVER_MS + 20, breaker=closed), OVER_MS + 20) is Admission.PASS


def test_given_an_answer_between_two_failures_of_probes_when_counted_then_it_is_forgotten() -> None:
    once = after_answer(probing(OPEN, LIMITS, OVER_MS), LIMITS, OVER_MS)
    reopened = after_failure(once, LIMITS, OVER_MS)
    later_ms = OVER_MS + OPEN_MS

    answered = after_answer(probing(reopened, LIMITS, later_ms), LIMITS, later_ms)

    assert admission(answered, later_ms) is Admission.PROBE


@pytest.mark.parametrize(
    ("kind", "status", "counts"),
    [
        (FaultKind.NO_ANSWER, None, True),
        (FaultKind.NEVER_SENT, None, True),
        (FaultKind.ANSWERED, 429, True),
        (FaultKind.ANSWERED, 500, True),
        (FaultKind.ANSWERED, 503, True),
        (FaultKind.ANSWERED, 400, False),
        (FaultKind.ANSWERED, 402, False),
        (FaultKind.ANSWERED, 404, False),
        (FaultKind.ANSWERED, 409, False),
        (FaultKind.ANSWERED, 499, False),
        (FaultKind.ANSWERED, None, False),
        (FaultKind.UNREADABLE, None, False),
    ],
)
def test_outages_count_and_refusals_never_do(
    kind: FaultKind, status: int | None, counts: bool
) -> None:
    assert counts_as_failure(kind, status) is counts


@pytest.mark.parametrize("name", CONTRACTS)
def test_every_provider_is_taken_up_again_well_within_its_recovery_deadline(name: str) -> None:
    contract = CONTRACTS[name]

    assert contract.breaker.open_seconds * 6 <= contract.recovery_deadline_seconds
    assert contract.breaker.failures > 3  # more than one stage makes by itself
