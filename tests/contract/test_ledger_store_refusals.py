"""What cannot be written whole, or contradicts itself, is refused before it is sent."""

import pytest

from ledger.errors import InvariantBroken
from ledger.store import Change, LedgerStore
from tests.builders import (
    NOW_MS,
    RUN_ID,
    a_change,
    a_run,
    an_effect,
    an_event,
    evidence,
    personal_fields,
)


class TestRefusal:
    def test_given_exactly_100_records_when_committed_then_all_are_written(
        self, store: LedgerStore
    ) -> None:
        store.commit(a_change(event_count=99))

        assert len(store.events(RUN_ID, 0, limit=1_000)) == 99

    def test_given_101_records_when_committed_then_refused_and_nothing_written(
        self, store: LedgerStore
    ) -> None:
        with pytest.raises(InvariantBroken, match="101 records"):
            store.commit(a_change(event_count=100))

        assert store.load(RUN_ID) is None

    def test_given_a_record_of_390_kb_with_long_names_when_committed_then_refused(
        self, store: LedgerStore
    ) -> None:
        # Names count as much as values, and neither alone is over the limit.
        fields = {f"{'n' * 2_000}{number}": "v" * 2_000 for number in range(100)}

        with pytest.raises(InvariantBroken, match="keep its digest"):
            store.commit(a_change(effects=(an_effect(evidence=evidence(fields=fields)),)))

        assert store.load(RUN_ID) is None
        assert store.events(RUN_ID, 0, limit=10) == ()

    def test_given_a_record_just_under_the_bound_when_committed_then_it_is_read_back(
        self, store: LedgerStore
    ) -> None:
        fields: dict[str, str | int | bool] = {
            f"field{number}": "é" * 1_850 for number in range(100)
        }
        effect = an_effect(evidence=evidence(fields=fields))

        store.commit(a_change(effects=(effect,)))

        ledger = store.load(RUN_ID)
        assert ledger is not None
        assert ledger.effects == (effect,)

    def test_given_text_counted_in_bytes_when_it_is_not_ascii_then_the_bytes_decide(
        self, store: LedgerStore
    ) -> None:
        with pytest.raises(InvariantBroken, match="bytes"):
            store.commit(a_change(personal=personal_fields(fields={"note": "é" * 200_000})))

    def test_given_records_that_fit_one_by_one_but_not_together_when_committed_then_refused(
        self, store: LedgerStore
    ) -> None:
        large = evidence(fields={"text": "v" * 380_000})
        effects = tuple(an_effect(effect_id=f"effect-{n}", evidence=large) for n in range(9))

        with pytest.raises(InvariantBroken, match="one transaction"):
            store.commit(a_change(effects=effects))

        assert store.load(RUN_ID) is None

    def test_given_a_number_of_more_digits_than_can_be_kept_when_committed_then_refused(
        self, store: LedgerStore
    ) -> None:
        largest = 10**38 - 1
        store.commit(a_change(effects=(an_effect(evidence=evidence(fields={"n": -largest})),)))
        ledger = store.load(RUN_ID)
        assert ledger is not None
        assert ledger.effects[0].evidence == evidence(fields={"n": -largest})

        beyond = an_effect(evidence=evidence(fields={"n": largest + 1}))
        with pytest.raises(InvariantBroken, match="exactly"):
            store.commit(a_change("commit-2", expected_sequence=1, effects=(beyond,)))

    @pytest.mark.parametrize(
        "change",
        [
            pytest.param(a_change(events=()), id="no event"),
            pytest.param(a_change(events=(an_event(sequence=2),)), id="a gap before it"),
            pytest.param(
                a_change(run=a_run(), events=(an_event(), an_event(sequence=3)), event_count=3),
                id="a gap inside it",
            ),
            pytest.param(
                a_change(event_count=2, events=(an_event(),)), id="a head ahead of its events"
            ),
            pytest.param(
                a_change(events=(an_event(commit_id="commit-9"),)), id="an event of another change"
            ),
            pytest.param(
                a_change(events=(an_event(run_id="run-9"),)), id="an event of another run"
            ),
            pytest.param(
                a_change(personal=personal_fields(run_id="run-9")), id="another run's customer"
            ),
            pytest.param(
                a_change(effects=(an_effect(), an_effect(instance=2))), id="one effect twice"
            ),
        ],
    )
    def test_given_a_change_that_contradicts_itself_when_committed_then_refused(
        self, store: LedgerStore, change: Change
    ) -> None:
        with pytest.raises(InvariantBroken):
            store.commit(change)

        assert store.load(RUN_ID) is None

    @pytest.mark.parametrize("limit", [0, -1])
    def test_given_a_page_that_holds_nothing_when_asked_for_then_refused(
        self, store: LedgerStore, limit: int
    ) -> None:
        with pytest.raises(InvariantBroken):
            store.events(RUN_ID, 0, limit)
        with pytest.raises(InvariantBroken):
            store.due(store.due_shards[0], NOW_MS, limit, None)
