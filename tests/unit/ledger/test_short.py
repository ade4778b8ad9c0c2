"""What is kept of a provider's record: every text of it has an end."""

from ledger.short import MAX_TEXT_CHARACTERS, short_record
from tests.unit.ledger.sample import a_record

LONG = "x" * (MAX_TEXT_CHARACTERS + 1)
CUT = "x" * (MAX_TEXT_CHARACTERS - 1) + "…"


def test_given_a_record_that_is_all_too_long_when_kept_then_each_of_its_texts_is_cut() -> None:
    texts = ("record_id", "provider_status", "mark", "run_mark")

    kept = short_record(a_record(**dict.fromkeys(texts, LONG), fields={"note": LONG}))

    assert kept == a_record(**dict.fromkeys(texts, CUT), fields={"note": CUT})
