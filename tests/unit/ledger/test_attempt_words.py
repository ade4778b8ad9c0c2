"""An attempt on record is read by the code of every later release."""

import json

from ledger.attempt import Attempt, AttemptOutcome
from tests.builders import an_attempt

OUTCOMES = ("running", "accepted", "refused", "not_reached", "unknown", "found", "absent")


def test_given_attempts_on_record_when_read_then_how_each_ended_is_still_known() -> None:
    stored = an_attempt().model_dump(mode="json")
    found = [
        Attempt.model_validate_json(json.dumps({**stored, "outcome": word})) for word in OUTCOMES
    ]

    assert [attempt.outcome for attempt in found] == list(AttemptOutcome)


def test_given_an_attempt_without_a_fault_when_read_then_none_is_told() -> None:
    assert an_attempt().fault == ""
