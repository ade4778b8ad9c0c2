"""The trail outlives the code: each kind is stored under its own name."""

from ledger.event import EventKind


def test_given_a_kind_of_event_when_stored_then_its_word_is_its_name() -> None:
    assert [kind.value for kind in EventKind] == [kind.name.lower() for kind in EventKind]
