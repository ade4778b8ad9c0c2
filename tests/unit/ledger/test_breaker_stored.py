"""What is stored of a breaker: what the next call is decided by, and nothing of what is over."""

from ledger.breaker import Breaker, after_answer, after_failure, probing
from tests.unit.ledger.test_breaker import LIMITS, NOW_MS, OPEN, OPEN_MS, OVER_MS, failed


def test_given_failures_that_open_it_when_stored_then_only_until_when_is_kept() -> None:
    assert failed(NOW_MS, NOW_MS, NOW_MS) == Breaker(provider="payments", open_until_ms=OVER_MS)


def test_given_a_probe_that_fails_when_stored_then_no_probe_is_under_way_any_more() -> None:
    probed = probing(OPEN, LIMITS, OVER_MS)

    again = after_failure(probed, LIMITS, OVER_MS, "write-1")

    assert again == Breaker(provider="payments", open_until_ms=OVER_MS + OPEN_MS)


def test_given_a_probe_that_is_answered_when_stored_then_it_is_counted_and_over() -> None:
    once = after_answer(probing(OPEN, LIMITS, OVER_MS), LIMITS, OVER_MS)

    assert once == OPEN.model_copy(update={"probes_answered": 1})
