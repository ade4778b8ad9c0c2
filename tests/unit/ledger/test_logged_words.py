"""Words that logs and a function's answer are searched for: each is the name in the code."""

from ledger.ports import StartOutcome
from ledger.sweep import SweepResult


def test_given_what_came_of_looking_after_a_run_when_logged_then_its_word_is_its_name() -> None:
    assert [found.value for found in SweepResult] == [found.name.lower() for found in SweepResult]


def test_given_what_became_of_a_start_when_logged_then_its_word_is_its_name() -> None:
    assert [found.value for found in StartOutcome] == [found.name.lower() for found in StartOutcome]
