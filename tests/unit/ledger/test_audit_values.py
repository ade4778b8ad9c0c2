"""A page of which nothing bad is said is a whole one: its records stand, and all were read."""

from ledger.audit import MarkedPage, MarkedRecord


def test_given_a_page_of_which_nothing_bad_is_said_when_read_then_its_records_stand() -> None:
    record = MarkedRecord(record_id="re_1", run_id="run_a", effect_id="eff_a")

    page = MarkedPage(records=(record,), next=None)

    assert page.records[0].failed is False
    assert (page.unreadable, page.next) == (0, None)
