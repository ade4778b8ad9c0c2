"""Lengths of time and text that follow from what others promise, or that we have promised."""

from ledger.effect import LONGEST_LEASE_SECONDS
from ledger.execution import FIRST_HOLD_SECONDS, FIRST_REPLACEMENT, HOLD_FACTOR
from ledger.migration import DEPLOY_SECONDS
from ledger.short import MAX_TEXT_CHARACTERS

# docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html: function timeout, 900 seconds.
LAMBDA_TIMEOUT_SECONDS = 900
# docs.stripe.com/upgrades, "IDs": "up to 255 characters".
STRIPE_ID_CHARACTERS = 255
HOUR_SECONDS = 3600
MAX_EXECUTIONS = 5  # of every released version


def test_given_what_others_promise_when_compared_then_leases_and_texts_are_as_long() -> None:
    assert LONGEST_LEASE_SECONDS == LAMBDA_TIMEOUT_SECONDS
    assert MAX_TEXT_CHARACTERS == 2 * STRIPE_ID_CHARACTERS


def test_given_a_version_that_is_not_there_yet_when_waited_for_then_half_an_hour_at_most() -> None:
    assert DEPLOY_SECONDS == HOUR_SECONDS / 2  # docs/versions.md


def test_given_five_executions_when_each_ends_at_once_then_they_outlast_an_hour() -> None:
    held = range(MAX_EXECUTIONS - FIRST_REPLACEMENT)

    assert sum(FIRST_HOLD_SECONDS * HOLD_FACTOR**step for step in held) >= HOUR_SECONDS
