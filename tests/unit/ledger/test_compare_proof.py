"""Comparing with a proof that is not there."""

from ledger.compare import Verdict, still_shows
from ledger.provider import Findings
from ledger.transitions import EffectState
from tests.unit.ledger.sample import a_record, a_refund


def test_given_no_evidence_on_record_when_read_again_then_the_mark_alone_says_whose_it_is() -> None:
    unproven = a_refund(EffectState.CONFIRMED, evidence=None)
    records = (a_record(record_id="re_2"),)

    assert still_shows(unproven, Findings(records=records, complete=True)).verdict is Verdict.MATCH
