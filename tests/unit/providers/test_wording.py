"""Words with facts in them: what is written is read back, and nothing else is."""

import pytest

from ledger.record import Scalar
from providers.wording import Quote, Wording, verbatim

AMOUNT = Quote(
    ("amount",), r"[0-9]+", lambda facts: str(facts["amount"]), lambda shown: {"amount": int(shown)}
)
WORDING = Wording(
    "About {id} (once)",
    "It is {id}. That costs {amount}+?\n\nOnce more: {id}\n",
    {"id": verbatim("id"), "amount": AMOUNT},
)


def test_what_was_written_is_read_back() -> None:
    facts: dict[str, Scalar] = {"id": "x.1(*)", "amount": 7}

    assert WORDING.read(*WORDING.write(facts)) == facts
    assert WORDING.names == {"id", "amount"}


@pytest.mark.parametrize(
    ("subject", "text"),
    [
        ("About a (once)", "It is b. That costs 7+?\n\nOnce more: a\n"),
        ("About a (once)", "It is a. That costs 7+?\n\nOnce more: b\n"),
        ("About a (once)", "It is a. That costs 7\n\nOnce more: a\n"),
        ("About a (once)", "It is a. That costs x+?\n\nOnce more: a\n"),
        ("About a (once)", "It is a. That costs 7+?\n\nOnce more: a\nAnd more."),
        ("About a (once)", "Before. It is a. That costs 7+?\n\nOnce more: a\n"),
        ("About a once", "It is a. That costs 7+?\n\nOnce more: a\n"),
        ("", ""),
    ],
)
def test_other_words_are_not_read(subject: str, text: str) -> None:
    assert WORDING.read(subject, text) is None


def test_an_id_that_could_hold_a_sentence_is_not_taken_for_one() -> None:
    written = WORDING.write({"id": "a. That costs 9+?", "amount": 7})

    assert WORDING.read(*written) is None


def test_a_fact_that_is_missing_is_an_error() -> None:
    with pytest.raises(KeyError):
        WORDING.write({"id": "a"})
