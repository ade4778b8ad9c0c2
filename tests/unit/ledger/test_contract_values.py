"""What a contract says where it says nothing, and the words that a fault is kept with."""

from datetime import timedelta

from ledger.contract import (
    KEY_NOTICE_SECONDS,
    Consistency,
    ErrorClass,
    FaultKind,
    Listing,
    LookUp,
    ProviderContract,
)

# docs/design.md: five writes in a minute open it for half a minute, two answers close it.
OURS = {"failures": 5, "window_seconds": 60, "open_seconds": 30, "probes": 2}
# "Refund and cancel payments" of Stripe: ten business days, which are two weeks.
TWO_WEEKS_SECONDS = timedelta(days=14).total_seconds()


def test_given_faults_on_record_and_in_metrics_when_read_then_each_word_is_still_known() -> None:
    assert list(FaultKind) == ["never_sent", "no_answer", "answered", "unreadable"]
    assert [found.value for found in ErrorClass] == [
        "not_reached",
        "refused",
        "same_key_again",
        "key_conflict",
        "compare",
        "unknown",
    ]


def test_given_a_contract_that_says_only_what_it_must_then_the_rest_is_as_documented() -> None:
    found = ProviderContract(
        provider="payments",
        needs=frozenset(),
        call_timeout_seconds=10,
        key_lifetime_seconds=None,
        look_up=LookUp.NONE,
        look_up_consistency=Consistency.EVENTUAL,
        settle_window_seconds=0,
        absence_reads=0,
        replay_after_absence=False,
        confirmed_by_read=False,
        recovery_deadline_seconds=900,
        max_attempts=1,
        errors=(),
    )

    assert found.personal_fields == ()
    assert found.rechecks_after_seconds == ()
    assert found.key_margin_seconds == 0
    # docs/design.md: an hour before its key lapses.
    assert found.key_notice_seconds == KEY_NOTICE_SECONDS == timedelta(hours=1).total_seconds()
    assert found.pending_deadline_seconds == TWO_WEEKS_SECONDS
    assert found.recent_records is Listing.NONE
    assert found.breaker.model_dump() == OURS
