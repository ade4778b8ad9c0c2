"""Events of a draft name what they are about, and what is over already gets no second one."""

import pytest

from ledger.approve import Decision
from ledger.event import EventKind
from ledger.transitions import RunState
from tests.builders import a_checkpoint
from tests.unit.ledger.support import World, a_draft, a_world
from tests.unit.ledger.test_counter import answer, offered_back


def is_in_review_once_more(world: World) -> None:
    """Let the run go on after a review, and come to another one."""
    world.change(lambda draft: draft.send_to_review("somebody looks"))
    world.change(lambda draft: draft.move_run(RunState.ACTIVE, EventKind.REVIEW_ENDED, "given"))
    world.change(lambda draft: draft.send_to_review("somebody looks again"))


@pytest.mark.parametrize(
    ("decision", "lapses"), [(Decision.APPROVE, 1), (Decision.DECLINE, 0)], ids=str
)
def test_given_an_answer_about_taking_back_when_in_review_again_then_it_ends_at_most_once(
    decision: Decision, lapses: int
) -> None:
    world = offered_back()
    answer(world, decision)

    is_in_review_once_more(world)

    newest = world.ledger.newest_approval()
    assert newest is not None
    assert newest.withdrawn is bool(lapses)
    assert world.kinds.count(EventKind.APPROVAL_LAPSED) == lapses


def test_given_a_checkpoint_when_withdrawn_then_its_event_names_it() -> None:
    draft = a_draft(a_world())

    draft.withdraw(a_checkpoint(name="refund_confirmed"), "given")

    (event,) = draft.change().events
    assert (event.kind, event.subject) == (EventKind.CHECKPOINT_WITHDRAWN, "refund_confirmed")
