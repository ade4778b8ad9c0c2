"""An event that is about nothing but its run names no subject."""

from ledger.event import EventKind
from tests.unit.ledger.support import a_draft, a_world


def test_given_an_event_about_the_run_alone_when_noted_then_it_names_no_subject() -> None:
    draft = a_draft(a_world())

    draft.note(EventKind.EXECUTION_RESUMED, "given")

    (event,) = draft.change().events
    assert (event.subject, event.prior_state, event.state) == ("", "", "")
