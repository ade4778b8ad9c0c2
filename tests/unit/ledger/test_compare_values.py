"""A judgement that shows nothing else leaves nothing to remark."""

from ledger.compare import Judgement, Verdict
from ledger.remarks import note_remarks
from tests.unit.ledger.sample import a_refund
from tests.unit.ledger.support import a_draft, a_world


def test_given_a_judgement_without_other_records_when_noted_then_there_is_no_remark() -> None:
    draft, refund = a_draft(a_world()), a_refund()

    assert note_remarks(draft, refund, Judgement(verdict=Verdict.CONFLICT, reason="")) is refund
    assert draft.is_empty
