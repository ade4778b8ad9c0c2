"""Words that people and models are told, against the views that were reviewed."""

from ledger import packet, situation, status
from tests.unit.ledger.golden_views import FOLDER


def views_of_all() -> str:
    return "".join(path.read_text(encoding="utf-8") for path in sorted(FOLDER.glob("*.json")))


def test_given_the_words_for_what_is_over_when_views_were_reviewed_then_each_was_among_them() -> (
    None
):
    reviewed = views_of_all()

    for words in (
        packet.UNTIL_WORDS,
        packet.ENDED_WORDS,
        packet.UNDONE_WORDS,
        packet.MAY_BE_UNDONE_WORDS,
        packet.ATTESTED_WORDS,
        status.UNTIL_WORDS,
        status.ENDED_WORDS,
        status.UNDONE_WORDS,
        status.MAY_BE_UNDONE_WORDS,
        status.ATTESTED_WORDS,
    ):
        before, _, after = words.partition("{moment}")
        assert before in reviewed
        assert after in reviewed


def test_given_the_words_for_why_not_when_views_were_reviewed_then_each_was_among_them() -> None:
    reviewed = views_of_all()

    assert f'"{situation.CUSTOMER_DIRECTORY}"' in reviewed
    assert situation.UNDONE in reviewed
    assert situation.OUTLIVED in reviewed
