"""One transaction: every change of state with its event, numbered without a gap."""

from functools import partial

import pytest

from ledger.draft import Draft
from ledger.errors import InvariantBroken
from ledger.event import EventKind
from ledger.run import Run
from ledger.transitions import EFFECT_TRANSITIONS, EffectState, RunState
from tests.builders import a_checkpoint, an_approval, evidence
from tests.unit.ledger.sample import AGENT, OPERATOR, REFUND_ID, RUN_ID, a_refund
from tests.unit.ledger.support import World, a_draft, a_world, an_approved_world, given


def reviewed(world: World) -> Run:
    """Return the run's head, which must be in review."""
    assert world.run().state is RunState.REVIEW
    return world.ledger.run


def test_a_draft_that_changes_nothing_is_empty() -> None:
    assert a_draft(a_world()).is_empty


def test_nothing_is_written_before_the_store_commits() -> None:
    world = a_world()
    before = world.ledger

    a_draft(world).send_to_review("a person asked")

    assert world.ledger == before


def test_each_event_says_who_did_what_why_and_from_which_state() -> None:
    world = a_world()

    world.change(lambda draft: draft.send_to_review("a person asked"))

    event = world.events[-1]
    assert event.kind is EventKind.REVIEW_REQUIRED
    assert event.actor == OPERATOR
    assert event.reason == "a person asked"
    assert (event.prior_state, event.state) == (RunState.ACTIVE, RunState.REVIEW)
    assert event.workflow == "give-back@2"
    assert event.epoch == 1
    assert event.at_ms == world.clock.now_ms()
    assert event.run_id == RUN_ID


def test_several_changes_of_one_transaction_are_numbered_on_without_a_gap() -> None:
    world = a_world()
    draft = a_draft(world)
    draft.put_effect(a_refund())
    draft.note(EventKind.EFFECT_PLANNED, "intended", subject=REFUND_ID)
    draft.move_effect(a_refund(), EffectState.ATTEMPTING, EventKind.EFFECT_CLAIMED, "claimed")
    draft.reach(a_checkpoint(), "proven")

    change = draft.change()

    first = world.run().sequence + 1
    assert [event.sequence for event in change.events] == [first, first + 1, first + 2]
    assert change.run.sequence == first + 2
    assert change.expected_sequence == first - 1
    assert {event.commit_id for event in change.events} == {change.commit_id}
    assert {event.actor for event in change.events} == {AGENT}


def test_a_transaction_writes_only_the_records_that_changed() -> None:
    world = an_approved_world()
    given(world, a_refund(), an_approval(checkpoint="request_approved"))
    draft = a_draft(world)

    draft.send_to_review("a person asked")
    change = draft.change()

    assert (change.effects, change.approvals, change.checkpoints) == ((), (), ())


def test_the_ledger_of_a_draft_is_the_run_as_it_will_be() -> None:
    world = a_world()
    draft = a_draft(world)
    draft.put_effect(a_refund())
    draft.note(EventKind.EFFECT_PLANNED, "intended")
    draft.send_to_review("a person asked")
    change = draft.change()

    world.store.commit(change)

    assert draft.ledger == world.ledger


@pytest.mark.parametrize("before", list(EffectState))
def test_an_effect_makes_no_move_that_is_not_in_the_table(before: EffectState) -> None:
    draft = a_draft(a_world())
    for after in set(EffectState) - EFFECT_TRANSITIONS[before]:
        with pytest.raises(InvariantBroken):
            draft.move_effect(a_refund(before), after, EventKind.EFFECT_UNKNOWN, "forbidden")

    assert draft.is_empty


def test_a_run_makes_no_move_that_is_not_in_the_table() -> None:
    draft = a_draft(a_world())

    with pytest.raises(InvariantBroken):
        draft.close_run(RunState.CLOSED, EventKind.RUN_CLOSED, "forbidden")

    assert draft.is_empty


def test_a_claim_proven_again_by_the_same_record_keeps_its_first_evidence() -> None:
    world = a_world()
    given(world, a_checkpoint(effect_id=None))
    draft = a_draft(world)

    draft.reach(a_checkpoint(effect_id=None, reached_at_ms=99, evidence=evidence()), "again")

    assert draft.is_empty
    proven = draft.ledger.proven("refund_confirmed")
    assert proven is not None
    assert proven.reached_at_ms != 99


def test_a_claim_that_was_contradicted_is_proven_anew_by_new_evidence() -> None:
    world = a_world()
    given(world, a_refund(EffectState.UNKNOWN), a_checkpoint(effect_id=REFUND_ID))
    draft = a_draft(world)
    draft.move_effect(
        a_refund(EffectState.UNKNOWN),
        EffectState.CONFIRMED,
        EventKind.EFFECT_CONFIRMED,
        "found after all",
    )

    draft.reach(
        a_checkpoint(effect_id=REFUND_ID, evidence=evidence(record_id="re_9")), "found after all"
    )

    proven = draft.ledger.proven("refund_confirmed")
    assert proven is not None
    assert proven.evidence.record_id == "re_9"


def test_a_review_asked_for_twice_keeps_its_first_reason_and_shows_the_other() -> None:
    world = a_world()
    world.change(lambda draft: draft.send_to_review("first"))

    world.change(lambda draft: draft.send_to_review("second"))
    world.change(lambda draft: draft.send_to_review("second"))

    assert reviewed(world).review_reason == "first"
    assert reviewed(world).review_also == ("second",)
    assert world.kinds.count(EventKind.REVIEW_REQUIRED) == 2


def test_the_reasons_beside_the_first_are_bounded_and_end_with_the_review() -> None:
    world = a_world()
    for number in range(10):
        world.change(partial(Draft.send_to_review, reason=f"reason {number}"))

    assert reviewed(world).review_reason == "reason 0"
    assert reviewed(world).review_also == tuple(f"reason {number}" for number in range(5, 10))
    world.change(lambda draft: draft.move_run(RunState.ACTIVE, EventKind.REVIEW_ENDED, "go on"))
    assert world.run().review_also == ()


def test_a_review_that_would_have_ended_by_itself_no_longer_does_once_a_person_is_needed() -> None:
    world = a_world()
    world.change(lambda draft: draft.send_to_review("overdue", recovers=True))
    assert reviewed(world).review_recovers

    world.change(lambda draft: draft.send_to_review("conflict"))

    assert not reviewed(world).review_recovers
    assert reviewed(world).review_reason == "conflict"
    assert reviewed(world).review_also == ("overdue",)
    assert world.kinds[-1] is EventKind.REVIEW_REQUIRED


def test_a_second_overdue_effect_leaves_a_review_that_ends_by_itself() -> None:
    world = a_world()
    world.change(lambda draft: draft.send_to_review("overdue", recovers=True))

    world.change(lambda draft: draft.send_to_review("overdue too", recovers=True))

    assert reviewed(world).review_recovers
    assert reviewed(world).review_reason == "overdue"
    assert reviewed(world).review_also == ("overdue too",)


@pytest.mark.parametrize("ended", [RunState.COMPLETED, RunState.CLOSED])
def test_an_ended_run_that_is_reviewed_again_is_open_and_due(ended: RunState) -> None:
    world = a_world()
    given(world, state=ended, closed_at_ms=1)

    world.change(lambda draft: draft.send_to_review("contradicted"))

    assert reviewed(world).closed_at_ms is None
    assert reviewed(world).due_at_ms is not None


def test_personal_fields_go_to_their_one_erasable_place() -> None:
    world = a_world(personal=False)

    def decide_personal(fields: dict[str, str]) -> None:
        draft = a_draft(world)
        draft.put_personal(fields)
        draft.note(EventKind.CHECKPOINT_REACHED, "read just now")
        world.store.commit(draft.change())

    decide_personal({"email": "ada@example.com"})

    stored = world.store.personal(RUN_ID)
    assert stored is not None
    assert stored.fields == {"email": "ada@example.com"}
    assert "ada@example.com" not in repr(world.ledger)
    assert not any("ada@example.com" in event.model_dump_json() for event in world.events)
