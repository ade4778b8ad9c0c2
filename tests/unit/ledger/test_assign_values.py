"""An execution that is assigned without a hold may start in the same moment."""

from ledger.assign import assign_execution
from tests.unit.ledger.support import a_draft, a_world


def test_given_no_hold_when_an_execution_is_assigned_then_it_may_start_at_once() -> None:
    draft = a_draft(a_world())

    assign_execution(draft, "given")

    assert draft.ledger.run.start_not_before_ms == draft.now_ms
