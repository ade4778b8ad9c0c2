"""Judging what a provider holds: ours only by our mark, equal only field by field."""

import pytest

from ledger.compare import MAX_CANDIDATES, Verdict, differing_fields, judge
from ledger.provider import Findings, ProviderRecord, RecordStatus
from ledger.record import Scalar
from tests.unit.ledger.sample import BOUND, OF_ANOTHER_RUN, a_record, a_refund


def found(*records: ProviderRecord, complete: bool = True) -> Findings:
    """Return what a look-up brought."""
    return Findings(records=records, complete=complete)


@pytest.mark.parametrize(
    ("status", "verdict"),
    [
        (RecordStatus.DONE, Verdict.MATCH),
        (RecordStatus.PENDING, Verdict.PENDING),
        (RecordStatus.FAILED, Verdict.FAILED),
    ],
)
@pytest.mark.parametrize("complete", [True, False])
def test_an_equal_record_with_our_mark_is_what_its_status_says(
    status: RecordStatus, verdict: Verdict, complete: bool
) -> None:
    record = a_record(status=status)

    judgement = judge(a_refund(), found(record, complete=complete))

    assert judgement.verdict is verdict
    assert judgement.record == record


def test_the_marked_record_is_chosen_wherever_it_stands_among_others() -> None:
    others = [a_record(record_id=f"re_other_{n}", mark=None) for n in range(3)]
    ours = a_record(record_id="re_ours")

    for position in range(len(others) + 1):
        records = [*others[:position], ours, *others[position:]]
        assert judge(a_refund(), found(*records)).record == ours


@pytest.mark.parametrize(
    "differing",
    [{"amount_minor": 79000}, {"charge_id": "ch_2"}, {"currency": "EUR"}],
    ids=str,
)
def test_our_mark_on_a_different_record_is_a_conflict_that_names_the_field(
    differing: dict[str, Scalar],
) -> None:
    judgement = judge(a_refund(), found(a_record(fields={**BOUND, **differing})))

    assert judgement.verdict is Verdict.CONFLICT
    assert next(iter(differing)) in judgement.reason
    assert len(judgement.candidates) == 1


def test_a_record_that_lacks_an_approved_field_differs_in_it() -> None:
    assert differing_fields(a_refund(), a_record(fields={"charge_id": "ch_1"})) == (
        "amount_minor",
        "currency",
    )


def test_fields_that_nobody_approved_do_not_count() -> None:
    record = a_record(fields={**BOUND, "livemode": False})

    assert judge(a_refund(), found(record)).verdict is Verdict.MATCH


def test_two_records_with_our_mark_are_a_conflict_though_each_is_equal() -> None:
    judgement = judge(a_refund(), found(a_record(record_id="re_1"), a_record(record_id="re_2")))

    assert judgement.verdict is Verdict.CONFLICT
    assert [record.record_id for record in judgement.candidates] == ["re_1", "re_2"]


@pytest.mark.parametrize("status", [RecordStatus.DONE, RecordStatus.PENDING])
@pytest.mark.parametrize("complete", [True, False])
def test_equal_records_without_any_mark_are_a_persons_question(
    status: RecordStatus, complete: bool
) -> None:
    lookalikes = [a_record(record_id=f"re_{n}", mark=None, status=status) for n in range(2)]

    judgement = judge(a_refund(), found(*lookalikes, complete=complete))

    assert judgement.verdict is Verdict.CONFLICT
    assert judgement.record is None
    assert list(judgement.candidates) == lookalikes


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(a_record(mark=None, status=RecordStatus.FAILED), id="failed"),
        pytest.param(a_record(mark=OF_ANOTHER_RUN), id="marked by another effect"),
        pytest.param(a_record(mark=None, fields={**BOUND, "amount_minor": 1}), id="other amount"),
    ],
)
def test_a_record_that_cannot_be_ours_leaves_the_effect_absent(other: ProviderRecord) -> None:
    assert judge(a_refund(), found(other)).verdict is Verdict.ABSENT


def test_nothing_found_on_every_page_is_absence() -> None:
    assert judge(a_refund(), found()).verdict is Verdict.ABSENT


def test_nothing_found_on_some_pages_proves_nothing() -> None:
    assert judge(a_refund(), found(complete=False)).verdict is Verdict.INCOMPLETE


@pytest.mark.parametrize("mark", [None, a_refund().effect_id])
def test_a_reviewer_is_shown_a_bounded_number_of_candidates(mark: str | None) -> None:
    many = [a_record(record_id=f"re_{n}", mark=mark) for n in range(MAX_CANDIDATES + 5)]

    assert len(judge(a_refund(), found(*many)).candidates) == MAX_CANDIDATES
