"""What every ledger store promises of a write, over DynamoDB and over memory."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from ledger.approval import ApprovalState
from ledger.attempt import AttemptOutcome
from ledger.effect import LateResult
from ledger.errors import InvariantBroken, LedgerMoved
from ledger.provider import ProviderRecord, RecordStatus
from ledger.run import RunLedger
from ledger.store import LedgerStore
from ledger.transitions import EffectState
from tests.builders import (
    NOW_MS,
    REFUND_BOUND,
    RUN_ID,
    a_change,
    a_checkpoint,
    a_run,
    an_approval,
    an_attempt,
    an_effect,
    evidence,
    personal_fields,
)


def _all_events(store: LedgerStore, run_id: str = RUN_ID) -> list[tuple[int, str]]:
    return [(event.sequence, event.commit_id) for event in store.events(run_id, 0, limit=1_000)]


class TestRoundTrip:
    def test_given_no_run_when_loaded_then_none(self, store: LedgerStore) -> None:
        assert store.load("run-nobody-opened") is None
        assert store.events("run-nobody-opened", 0, limit=10) == ()
        assert store.personal("run-nobody-opened") is None

    def test_given_a_run_with_every_kind_of_record_when_loaded_then_it_is_equal_to_what_was_written(
        self, store: LedgerStore
    ) -> None:
        late = LateResult(
            attempt_id="attempt-1",
            record=ProviderRecord(
                record_id="re_2",
                status=RecordStatus.PENDING,
                provider_status="pending",
                mark=None,
                fields={"amount_minor": 7900, "livemode": True, "note": ""},
            ),
            learned_at_ms=NOW_MS,
        )
        refund = an_effect(
            state=EffectState.UNKNOWN,
            attempts=(an_attempt(outcome=AttemptOutcome.UNKNOWN, fault="no_answer"),),
            unsettled_since_ms=NOW_MS,
            evidence=evidence(),
            candidates=(evidence(record_id="re_3"), evidence(record_id="re_4")),
            late_results=(late,),
        )
        receipt = an_effect(effect_id="effect-receipt-1", approval_id=None, instance=2**53)
        approval = an_approval(
            state=ApprovalState.APPROVED,
            decided_by="person-1",
            spent_on={"issue_refund": refund.effect_id},
        )
        checkpoints = (a_checkpoint(name="account_confirmed", effect_id=None), a_checkpoint())
        change = a_change(
            event_count=2,
            effects=(refund, receipt),
            approvals=(approval,),
            checkpoints=checkpoints,
            personal=personal_fields(),
        )

        store.commit(change)

        assert store.load(RUN_ID) == RunLedger(
            run=change.run,
            effects=(receipt, refund),  # by id
            approvals=(approval,),
            checkpoints=checkpoints,
        )
        assert store.events(RUN_ID, 0, limit=10) == change.events
        assert store.personal(RUN_ID) == personal_fields()

    def test_given_a_later_change_when_loaded_then_only_the_changed_records_are_replaced(
        self, store: LedgerStore
    ) -> None:
        untouched = an_effect(effect_id="effect-receipt-1")
        store.commit(a_change(effects=(an_effect(), untouched), approvals=(an_approval(),)))
        claimed = an_effect(state=EffectState.ATTEMPTING, attempts=(an_attempt(),))

        store.commit(a_change("commit-2", expected_sequence=1, effects=(claimed,)))

        ledger = store.load(RUN_ID)
        assert ledger is not None
        assert ledger.effects == (untouched, claimed)
        assert ledger.approvals == (an_approval(),)
        assert ledger.run.sequence == 2

    def test_given_two_runs_when_one_changes_then_the_other_does_not(
        self, store: LedgerStore
    ) -> None:
        # One id is the beginning of the other: keys must not run into each other.
        store.commit(a_change(effects=(an_effect(),)))
        store.commit(a_change("commit-2", run=a_run(run_id=f"{RUN_ID}0")))

        ledger = store.load(f"{RUN_ID}0")
        assert ledger is not None
        assert ledger.effects == ()
        assert _all_events(store) == [(1, "commit-1")]

    def test_given_a_writer_that_mutates_its_own_value_then_the_ledger_does_not_change(
        self, store: LedgerStore
    ) -> None:
        bound = dict(REFUND_BOUND)
        change = a_change(effects=(an_effect(bound=bound),))
        store.commit(change)

        change.effects[0].bound["amount_minor"] = 790_000
        first_read = store.load(RUN_ID)
        assert first_read is not None
        first_read.effects[0].bound["amount_minor"] = 1

        second_read = store.load(RUN_ID)
        assert second_read is not None
        assert second_read.effects[0].bound["amount_minor"] == 7900


class TestCommit:
    def test_given_a_run_created_when_the_same_change_is_repeated_then_success_and_one_event(
        self, store: LedgerStore
    ) -> None:
        change = a_change()
        store.commit(change)

        store.commit(change)

        assert _all_events(store) == [(1, "commit-1")]

    def test_given_a_run_created_when_somebody_else_creates_it_then_moved_and_nothing_written(
        self, store: LedgerStore
    ) -> None:
        store.commit(a_change())
        other = a_change("commit-2", run=a_run(tenant_id="tenant-2"), effects=(an_effect(),))

        with pytest.raises(LedgerMoved):
            store.commit(other)

        ledger = store.load(RUN_ID)
        assert ledger is not None
        assert ledger.run.tenant_id == "tenant-1"
        assert ledger.effects == ()
        assert _all_events(store) == [(1, "commit-1")]

    def test_given_a_stale_sequence_when_committed_then_moved_and_nothing_written(
        self, store: LedgerStore
    ) -> None:
        store.commit(a_change(effects=(an_effect(),)))
        store.commit(a_change("commit-2", expected_sequence=1, event_count=2))
        stale = a_change(
            "commit-3",
            expected_sequence=1,
            effects=(an_effect(state=EffectState.ATTEMPTING),),
            approvals=(an_approval(),),
            personal=personal_fields(),
        )

        with pytest.raises(LedgerMoved):
            store.commit(stale)

        ledger = store.load(RUN_ID)
        assert ledger is not None
        assert ledger.effects == (an_effect(),)
        assert ledger.approvals == ()
        assert store.personal(RUN_ID) is None
        assert _all_events(store) == [(1, "commit-1"), (2, "commit-2"), (3, "commit-2")]

    def test_given_a_run_that_does_not_exist_when_changed_then_moved(
        self, store: LedgerStore
    ) -> None:
        with pytest.raises(LedgerMoved):
            store.commit(a_change(expected_sequence=3))

        assert store.load(RUN_ID) is None

    def test_given_a_sequence_that_is_still_to_come_when_committed_then_moved(
        self, store: LedgerStore
    ) -> None:
        store.commit(a_change())

        with pytest.raises(LedgerMoved):
            store.commit(a_change("commit-2", expected_sequence=5))

        assert _all_events(store) == [(1, "commit-1")]

    def test_given_our_write_landed_and_somebody_wrote_on_top_when_repeated_then_success(
        self, store: LedgerStore
    ) -> None:
        store.commit(a_change())
        ours = a_change("ours", expected_sequence=1, event_count=2, effects=(an_effect(),))
        store.commit(ours)
        claimed = an_effect(state=EffectState.ATTEMPTING)
        store.commit(a_change("theirs", expected_sequence=3, effects=(claimed,)))

        store.commit(ours)

        ledger = store.load(RUN_ID)
        assert ledger is not None
        assert ledger.effects == (claimed,)
        assert _all_events(store) == [(1, "commit-1"), (2, "ours"), (3, "ours"), (4, "theirs")]

    def test_given_our_commit_id_at_another_sequence_when_committed_then_it_is_not_taken_for_ours(
        self, store: LedgerStore
    ) -> None:
        store.commit(a_change())
        store.commit(a_change("commit-2", expected_sequence=1))

        # A store that remembers commit ids may say more loudly that this is a mistake.
        with pytest.raises((LedgerMoved, InvariantBroken)):
            store.commit(a_change("commit-2"))

        assert _all_events(store) == [(1, "commit-1"), (2, "commit-2")]

    def test_given_eight_writers_at_one_sequence_when_released_together_then_one_wins(
        self, store: LedgerStore
    ) -> None:
        store.commit(a_change())
        barrier = Barrier(8)

        def write(number: int) -> bool:
            change = a_change(f"writer-{number}", expected_sequence=1, event_count=2)
            barrier.wait()
            try:
                store.commit(change)
            except LedgerMoved:
                return False
            return True

        with ThreadPoolExecutor(8) as pool:
            wins = list(pool.map(write, range(8)))

        assert wins.count(True) == 1
        winner = f"writer-{wins.index(True)}"
        assert _all_events(store) == [(1, "commit-1"), (2, winner), (3, winner)]
