"""What every record refuses, whoever makes it."""

import pytest
from pydantic import ValidationError

from ledger.errors import RequestRefused
from ledger.record import Record, StoredRecord


class Sample(Record):
    amount_minor: int


class Kept(StoredRecord):
    amount_minor: int


def test_given_a_record_when_changed_then_it_is_refused() -> None:
    sample = Sample(amount_minor=1)

    with pytest.raises(ValidationError, match="frozen"):
        sample.amount_minor = 2  # type: ignore[misc]


def test_given_a_number_in_words_when_made_then_it_is_refused_and_not_quoted() -> None:
    with pytest.raises(ValidationError) as refused:
        Sample.model_validate({"amount_minor": "1 of zebra.lovelace@marker.example"})

    assert "zebra" not in str(refused.value)
    with pytest.raises(ValidationError, match="valid integer"):
        Sample.model_validate({"amount_minor": "1"})


def test_given_an_unknown_field_when_made_then_only_a_stored_record_carries_it_along() -> None:
    with pytest.raises(ValidationError, match="Extra inputs"):
        Sample.model_validate({"amount_minor": 1, "of_a_later_release": 2})

    kept = Kept.model_validate({"amount_minor": 1, "of_a_later_release": 2})

    assert kept.model_dump() == {"amount_minor": 1, "of_a_later_release": 2}


def test_given_a_refusal_when_raised_then_it_says_why_to_people_and_to_the_log() -> None:
    refused = RequestRefused("not-found", "There is no such run.")

    assert (refused.problem, refused.detail) == ("not-found", "There is no such run.")
    assert str(refused) == "There is no such run."
