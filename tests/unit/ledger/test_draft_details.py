"""What a review leaves behind when it ends, and what a draft carries along unread."""

from ledger.draft import Draft
from ledger.event import EventKind
from ledger.transitions import EffectState, RunState
from tests.unit.ledger.sample import REFUND_ID, a_refund
from tests.unit.ledger.support import a_draft, a_world, given


def test_given_a_review_when_it_begins_and_ends_then_its_reason_and_its_time_go_with_it() -> None:
    world = a_world()
    world.pass_seconds(7)

    world.change(lambda draft: draft.send_to_review("a person asked"))

    assert world.run().review_reason == "a person asked"
    assert world.run().review_since_ms == world.clock.now_ms()

    world.change(lambda draft: draft.move_run(RunState.ACTIVE, EventKind.REVIEW_ENDED, "looked"))

    assert world.run().review_reason == ""
    assert world.run().review_since_ms is None


def test_given_fields_that_newer_code_has_written_when_changed_then_they_stay() -> None:
    world = a_world()
    given(world, a_refund().model_validate({**dict(a_refund()), "of_a_later_release": 7}))

    def changed(draft: Draft) -> None:
        draft.set_run(of_a_later_release="kept")
        draft.note(EventKind.RECONCILE_READ, "given")

    world.change(changed)
    world.change(lambda draft: draft.move_run(RunState.REVIEW, EventKind.REVIEW_REQUIRED, "given"))

    def moved(draft: Draft) -> None:
        draft.move_effect(
            world.effect(REFUND_ID), EffectState.UNKNOWN, EventKind.EFFECT_UNKNOWN, "given"
        )

    world.change(moved)

    assert world.run().model_extra == {"of_a_later_release": "kept"}
    assert world.effect().model_extra == {"of_a_later_release": 7}


def test_given_a_draft_of_two_events_when_it_is_closed_then_its_run_is_numbered_by_them() -> None:
    world = a_world()
    before = world.run().sequence
    draft = a_draft(world)
    for _ in (1, 2):
        draft.note(EventKind.RECONCILE_READ, "given")
    draft.set_run(engineering=True)

    change = draft.change()

    assert change.run.sequence == change.events[-1].sequence == before + 2
    assert draft.ledger.run == change.run
