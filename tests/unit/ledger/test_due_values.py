"""How seldom a run may be looked at: what waits for a person is brought up once a day."""

from datetime import timedelta

from ledger.due import MAX_READ_WAIT_SECONDS, REVIEW_REMINDER_SECONDS

# The census, and who reads its alarms, count on every open run to be due within a day
# (docs/operations.md, "every run due within a day").
A_DAY_SECONDS = timedelta(days=1).total_seconds()


def test_given_a_run_in_review_when_nobody_looks_then_it_comes_up_once_a_day() -> None:
    assert REVIEW_REMINDER_SECONDS == A_DAY_SECONDS
    assert MAX_READ_WAIT_SECONDS <= A_DAY_SECONDS
