"""Whether a provider still shows what was proven, though others have written to it since."""

import pytest

from ledger.compare import Judgement, Verdict, still_shows
from ledger.effect import Effect
from ledger.provider import Findings, ProviderRecord, RecordStatus
from ledger.settle import evidence_of
from ledger.transitions import EffectState
from tests.unit.ledger.sample import BOUND, OF_ANOTHER_RUN, REFUND_ID, a_record, a_refund


def proven() -> Effect:
    """Return a refund that was confirmed by the record ``re_1``."""
    refund = a_refund(EffectState.CONFIRMED)
    return refund.model_copy(update={"evidence": evidence_of(refund, a_record(), 1)})


def judged(*records: ProviderRecord) -> Judgement:
    """Return what records show of the proven refund."""
    return still_shows(proven(), Findings(records=records, complete=True))


def verdict(*records: ProviderRecord) -> Verdict:
    """Return the verdict alone."""
    return judged(*records).verdict


def test_given_its_own_record_with_the_mark_written_over_when_read_then_the_proof_holds() -> None:
    others = a_record(record_id="re_2", mark=OF_ANOTHER_RUN)

    assert verdict(others, a_record(mark=None)) is Verdict.MATCH


def test_given_another_record_like_it_when_read_then_it_is_no_proof() -> None:
    assert verdict(a_record(record_id="re_2", mark=None)) is Verdict.CONFLICT


@pytest.mark.parametrize(
    "changed",
    [
        {"status": RecordStatus.FAILED},
        {"mark": OF_ANOTHER_RUN},
        {"fields": {**BOUND, "amount_minor": 1}},
    ],
    ids=["failed", "another's mark", "another amount"],
)
def test_given_its_own_record_without_the_mark_and_otherwise_changed_when_read_then_it_is_none(
    changed: dict[str, object],
) -> None:
    judgement = judged(a_record(**{"mark": None, **changed}))

    assert judgement.verdict is Verdict.CONFLICT
    assert judgement.reason == "the record on file, re_1, is shown without our mark"
    assert [found.record_id for found in judgement.candidates] == ["re_1"]


def test_given_its_own_record_with_our_mark_edited_by_hand_when_read_then_the_proof_holds() -> None:
    assert verdict(a_record(mark=f"{REFUND_ID} (ticket 4711)")) is Verdict.MATCH


def test_given_a_second_record_with_our_mark_when_read_then_it_is_a_conflict() -> None:
    assert verdict(a_record(mark=None), a_record(record_id="re_2")) is Verdict.CONFLICT
