"""What every ledger store promises of events, of what is due and of personal fields."""

import pytest

from adapters.due_shards import due_shard
from ledger.errors import LedgerMoved
from ledger.run import RunLedger
from ledger.store import LedgerStore
from ledger.transitions import RunState
from tests.builders import (
    NOW_MS,
    RUN_ID,
    a_change,
    a_run,
    an_effect,
    personal_fields,
)


def _all_events(store: LedgerStore, run_id: str = RUN_ID) -> list[tuple[int, str]]:
    return [(event.sequence, event.commit_id) for event in store.events(run_id, 0, limit=1_000)]


def _due_in_pages(
    store: LedgerStore, shard: str, now_ms: int = NOW_MS, limit: int = 100
) -> list[tuple[str, ...]]:
    pages = [store.due(shard, now_ms, limit, None)]
    while pages[-1].cursor is not None:
        assert len(pages) < 50
        pages.append(store.due(shard, now_ms, limit, pages[-1].cursor))
    return [page.run_ids for page in pages]


def _all_due(store: LedgerStore, now_ms: int = NOW_MS) -> list[str]:
    return sorted(
        run_id
        for shard in store.due_shards
        for page in _due_in_pages(store, shard, now_ms)
        for run_id in page
    )


class TestEvents:
    def test_given_25_events_when_read_by_pages_then_gapless_and_in_order(
        self, store: LedgerStore
    ) -> None:
        # Beyond 9 and 19, where numbers kept as plain text would sort wrongly.
        for number in range(5):
            store.commit(a_change(f"c{number}", expected_sequence=number * 5, event_count=5))

        pages = [store.events(RUN_ID, after, limit=10) for after in (0, 10, 20, 25)]

        assert [[event.sequence for event in page] for page in pages] == [
            [*range(1, 11)],
            [*range(11, 21)],
            [*range(21, 26)],
            [],
        ]

    def test_given_200_events_when_loaded_then_the_run_is_as_small_as_before(
        self, store: LedgerStore
    ) -> None:
        store.commit(a_change(effects=(an_effect(),), personal=personal_fields()))
        store.commit(a_change("commit-2", expected_sequence=1, event_count=98))
        store.commit(a_change("commit-3", expected_sequence=99, event_count=99))
        store.commit(a_change("commit-4", expected_sequence=198, event_count=2))

        ledger = store.load(RUN_ID)

        assert ledger == RunLedger(run=a_run(sequence=200), effects=(an_effect(),))
        assert [number for number, _ in _all_events(store)] == [*range(1, 201)]


class TestDue:
    def test_given_runs_due_at_several_times_when_asked_then_only_those_not_after_now(
        self, store: LedgerStore
    ) -> None:
        for name, due_at_ms in (
            ("past", NOW_MS - 1),
            ("now", NOW_MS),
            ("later", NOW_MS + 1),
            ("never", None),
        ):
            store.commit(a_change(f"c-{name}", run=a_run(run_id=name, due_at_ms=due_at_ms)))

        assert _all_due(store, NOW_MS) == ["now", "past"]
        assert _all_due(store, NOW_MS + 1) == ["later", "now", "past"]

    def test_given_a_run_that_is_closed_when_asked_then_it_has_left_the_index(
        self, store: LedgerStore
    ) -> None:
        store.commit(a_change())
        assert _all_due(store) == [RUN_ID]
        closed = a_run(state=RunState.CLOSED, due_at_ms=None, closed_at_ms=NOW_MS)

        store.commit(a_change("commit-2", expected_sequence=1, run=closed))

        assert _all_due(store, NOW_MS * 2) == []

    def test_given_a_run_put_off_when_asked_then_it_is_listed_once_at_its_new_time(
        self, store: LedgerStore
    ) -> None:
        store.commit(a_change())

        later = a_run(due_at_ms=NOW_MS + 60_000)
        store.commit(a_change("commit-2", expected_sequence=1, run=later))

        assert _all_due(store, NOW_MS) == []
        assert _all_due(store, NOW_MS + 60_000) == [RUN_ID]

    def test_given_seven_due_runs_in_a_shard_when_read_by_threes_then_longest_due_first(
        self, store: LedgerStore
    ) -> None:
        shard = store.due_shards[3]
        names = [f"run-{n}" for n in range(500) if due_shard(f"run-{n}") == shard][:7]
        for age, name in enumerate(names):
            # Minutes of different lengths as text, so that text order would show.
            due_at_ms = 10**age
            store.commit(a_change(f"c-{name}", run=a_run(run_id=name, due_at_ms=due_at_ms)))

        pages = _due_in_pages(store, shard, limit=3)

        assert [run_id for page in pages for run_id in page] == names
        assert max(len(page) for page in pages) == 3

    def test_given_one_run_when_all_shards_are_read_then_it_is_in_exactly_one(
        self, store: LedgerStore
    ) -> None:
        store.commit(a_change())

        listed = [shard for shard in store.due_shards if any(_due_in_pages(store, shard))]

        assert len(listed) == 1


class TestPersonal:
    def test_given_personal_fields_when_the_run_is_loaded_then_they_are_not_in_it(
        self, store: LedgerStore
    ) -> None:
        store.commit(a_change(personal=personal_fields()))

        ledger = store.load(RUN_ID)

        assert ledger is not None
        assert "ada" not in repr(ledger).lower()
        assert not any("ada@" in event.model_dump_json() for event in store.events(RUN_ID, 0, 10))

    def test_given_personal_fields_when_erased_twice_then_gone_and_the_proof_is_kept(
        self, store: LedgerStore
    ) -> None:
        store.commit(a_change(effects=(an_effect(),), personal=personal_fields()))
        before = store.load(RUN_ID)

        store.erase_personal(RUN_ID)
        store.erase_personal(RUN_ID)

        assert store.personal(RUN_ID) is None
        assert store.load(RUN_ID) == before
        assert _all_events(store) == [(1, "commit-1")]

    def test_given_nothing_personal_when_erased_then_harmless(self, store: LedgerStore) -> None:
        store.erase_personal(RUN_ID)

        assert store.personal(RUN_ID) is None
        assert store.load(RUN_ID) is None

    def test_given_erased_fields_when_a_slow_worker_writes_them_again_then_they_stay_erased(
        self, store: LedgerStore
    ) -> None:
        store.commit(a_change())
        store.erase_personal(RUN_ID)

        with pytest.raises(LedgerMoved):
            store.commit(a_change("commit-2", expected_sequence=1, personal=personal_fields()))

        assert store.personal(RUN_ID) is None
        assert _all_events(store) == [(1, "commit-1")]

    def test_given_fields_written_and_then_erased_when_the_write_is_repeated_then_success(
        self, store: LedgerStore
    ) -> None:
        change = a_change(personal=personal_fields())
        store.commit(change)
        store.erase_personal(RUN_ID)

        store.commit(change)

        assert store.personal(RUN_ID) is None
