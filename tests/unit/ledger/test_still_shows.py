"""Whether a provider still shows what was proven, though others have written to it since."""

import pytest

from ledger.compare import Verdict, still_shows
from ledger.effect import Effect
from ledger.provider import Findings, ProviderRecord, RecordStatus
from ledger.settle import evidence_of
from ledger.transitions import EffectState
from tests.unit.ledger.sample import BOUND, a_record, a_refund


def proven() -> Effect:
    """Return a refund that was confirmed by the record ``re_1``."""
    refund = a_refund(EffectState.CONFIRMED)
    return refund.model_copy(update={"evidence": evidence_of(refund, a_record(), 1)})


def verdict(*records: ProviderRecord) -> Verdict:
    """Return what records show of the proven refund."""
    return still_shows(proven(), Findings(records=records, complete=True)).verdict


def test_given_its_own_record_with_the_mark_written_over_when_read_then_the_proof_holds() -> None:
    others = a_record(record_id="re_2", mark="eff_other")

    assert verdict(others, a_record(mark=None)) is Verdict.MATCH


def test_given_another_record_like_it_when_read_then_it_is_no_proof() -> None:
    assert verdict(a_record(record_id="re_2", mark=None)) is Verdict.CONFLICT


@pytest.mark.parametrize(
    "changed",
    [
        {"status": RecordStatus.FAILED},
        {"mark": "eff_other"},
        {"fields": {**BOUND, "amount_minor": 1}},
    ],
    ids=["failed", "another's mark", "another amount"],
)
def test_given_its_own_record_without_the_mark_and_otherwise_changed_when_read_then_it_is_none(
    changed: dict[str, object],
) -> None:
    assert verdict(a_record(**{"mark": None, **changed})) is Verdict.ABSENT


def test_given_a_second_record_with_our_mark_when_read_then_it_is_a_conflict() -> None:
    assert verdict(a_record(mark=None), a_record(record_id="re_2")) is Verdict.CONFLICT
