"""Read, decide, commit: and decide again on what somebody else wrote first."""

import pytest

from ledger.draft import Draft
from ledger.errors import LedgerMoved, LedgerUnavailable, RequestRefused
from ledger.event import EventKind
from ledger.update import MAX_DECISIONS, load, update
from tests.unit.ledger.sample import OPERATOR, RUN_ID
from tests.unit.ledger.support import a_world, given


def test_a_run_that_is_not_there_cannot_be_read() -> None:
    with pytest.raises(RequestRefused) as refused:
        load(a_world().ports, "run_b")

    assert refused.value.problem == "run-not-found"


def test_a_decision_is_made_again_on_what_another_wrote_first() -> None:
    world = a_world()
    world.store.rivals = [lambda: given(world, epoch=2)]
    epochs: list[int] = []

    def decide(draft: Draft) -> None:
        epochs.append(draft.ledger.run.epoch)
        draft.note(EventKind.REVIEW_ENDED, "decided")

    ledger = update(world.ports, RUN_ID, OPERATOR, decide)

    assert epochs == [1, 2]
    assert ledger == world.ledger
    assert world.kinds.count(EventKind.REVIEW_ENDED) == 1


def test_a_writer_that_always_loses_gives_up_after_a_bounded_number_of_decisions() -> None:
    world = a_world()
    world.store.failure = LedgerMoved("somebody was faster")
    decisions: list[int] = []

    def decide(draft: Draft) -> None:
        decisions.append(1)
        draft.note(EventKind.REVIEW_ENDED, "decided")

    with pytest.raises(LedgerMoved, match=f"{MAX_DECISIONS} times"):
        update(world.ports, RUN_ID, OPERATOR, decide)

    assert len(decisions) == MAX_DECISIONS


def test_a_decision_to_change_nothing_writes_nothing() -> None:
    world = a_world()
    world.store.failure = LedgerUnavailable("no answer")

    assert update(world.ports, RUN_ID, OPERATOR, lambda _: None) == world.ledger


def test_a_store_without_an_answer_is_not_asked_again_blindly() -> None:
    world = a_world()
    world.store.failure = LedgerUnavailable("no answer")
    decisions: list[int] = []

    def decide(draft: Draft) -> None:
        decisions.append(1)
        draft.note(EventKind.REVIEW_ENDED, "decided")

    with pytest.raises(LedgerUnavailable):
        update(world.ports, RUN_ID, OPERATOR, decide)

    assert len(decisions) == 1


def test_each_decision_is_a_commit_of_its_own() -> None:
    world = a_world()

    given(world)
    given(world)

    commits = [event.commit_id for event in world.events]
    assert len(set(commits)) == len(commits)
