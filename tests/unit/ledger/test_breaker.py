"""When a provider is left alone, and how it is taken up again."""

from collections import Counter
from functools import partial

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
from workflows.registry import KNOWN

LIMITS = BreakerLimits(failures=3, window_seconds=60, open_seconds=30, probes=2)
CLOSED = Breaker(provider="payments")
NOW_MS = 1_000_000
OPEN_MS = 30_000


def failed(*times_ms: int, breaker: Breaker = CLOSED) -> Breaker:
    """Return the breaker after failures at these times, each of another write."""
    for number, at_ms in enumerate(times_ms):
        breaker = after_failure(breaker, LIMITS, at_ms, f"write-{number}")
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
    assert spread.failing == {"write-2": NOW_MS + 60_000, "write-3": NOW_MS + 90_000}


def test_given_one_write_that_is_repeated_when_counted_then_it_says_nothing_of_the_others() -> None:
    breaker = failed(NOW_MS, NOW_MS)

    for second in range(60):
        breaker = after_failure(breaker, LIMITS, NOW_MS + second * 1000, "write-1")

    assert admission(breaker, NOW_MS + 59_000) is Admission.PASS
    assert breaker.failing["write-1"] == NOW_MS + 59_000
    assert admission(after_failure(breaker, LIMITS, NOW_MS, "write-2"), NOW_MS) is (
        Admission.HELD_BACK
    )


def test_given_a_closed_breaker_when_a_call_is_answered_then_nothing_is_to_be_stored() -> None:
    breaker = failed(NOW_MS)

    assert after_answer(breaker, LIMITS, NOW_MS) is breaker


@pytest.mark.parametrize("after", [partial(after_failure, write="write-1"), after_answer])
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

    again = after_failure(probed, LIMITS, OVER_MS + 10, "write-1")

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
    reopened = after_failure(once, LIMITS, OVER_MS, "write-1")
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
        (FaultKind.UNREADABLE, 200, False),
        (FaultKind.UNREADABLE, 404, False),
        (FaultKind.UNREADABLE, 429, True),
        (FaultKind.UNREADABLE, 502, True),
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


@pytest.mark.parametrize("version", KNOWN)
def test_one_run_has_too_few_writes_at_a_provider_to_have_it_left_alone_by_all(
    version: str,
) -> None:
    writes = Counter(found.provider for found in KNOWN[version].operations)

    for provider, count in writes.items():
        assert count < CONTRACTS[provider].breaker.failures
