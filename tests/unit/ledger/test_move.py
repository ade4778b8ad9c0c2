"""An operator moves a run to another version: named by its consequence, refused with a reason."""

import pytest

from ledger.errors import RequestRefused, RetryLater
from ledger.event import EventKind
from ledger.ports import ExecutionStatus
from ledger.retired import retired_definition
from ledger.transitions import RunState
from ledger.versions import Versions
from ledger.workflow import WorkflowDefinition
from tests.unit.ledger.desk import MOVE, RESUME, act, go_on, offer, offered
from tests.unit.ledger.sample import DEFINITION, OPERATOR, RUN_ID
from tests.unit.ledger.situations import (
    SITUATIONS,
    refund_confirmed,
    refund_overdue,
    refund_rejected,
)
from tests.unit.ledger.support import World, an_approved_world
from tests.unit.ledger.versions import altered, is_replaced, moves, renumbered, with_fee

REWORDED = renumbered(definition=altered("operations", 0, label="Money back"))


def in_review(world: World) -> World:
    """Let somebody have asked for a review."""
    world.change(lambda draft: draft.send_to_review("somebody looks"))
    return world


def replaced(
    world: World, new: WorkflowDefinition = REWORDED, *, deployed_too: bool = True
) -> World:
    """Let a newer version be there, to which a migration leads."""
    is_replaced(world, new)
    if deployed_too:
        world.executions.machines |= {DEFINITION.version}
    return world


def test_given_a_run_in_review_when_a_migration_leads_on_then_its_consequence_is_named() -> None:
    world = replaced(in_review(an_approved_world()))

    found = offer(world, MOVE)

    assert found.allowed
    assert found.label == "Move to give-back@3 and resume"
    assert found.consequence.writes == ("Money back", "Receipt email")
    assert found.consequence.reads == ("customer_directory", "payments")
    assert found.consequence.moves_money
    assert "from now on" in found.consequence.words
    assert "the new one is better" in found.consequence.words
    assert "Not carried over" not in found.consequence.words
    assert "new decision" not in found.consequence.words


def test_given_what_is_done_already_when_offered_then_it_is_not_named_as_a_write_to_come() -> None:
    world = replaced(in_review(refund_confirmed()))

    found = offer(world, MOVE)

    assert found.consequence.writes == ("Receipt email",)
    assert not found.consequence.moves_money


def test_given_another_consequence_when_offered_then_the_new_decision_is_named() -> None:
    more = altered("contracts", 0, with_fee(), evidence_fields=("digest", "decided_by", "place"))
    world = replaced(in_review(an_approved_world()), renumbered(definition=more))

    words = offer(world, MOVE).consequence.words

    assert "The customer is asked for a new decision first." in words
    assert "Not carried over: request_approved." in words


def test_given_a_move_when_chosen_then_the_run_goes_on_as_the_new_version() -> None:
    # Given a run in review whose own version is still deployed, and a newer one.
    world = replaced(in_review(an_approved_world()))

    # When an operator moves it.
    act(world, MOVE)

    # Then the trail says who, from where and to where, and one new execution runs.
    run = world.run()
    assert (run.state, run.workflow, run.epoch) == (RunState.ACTIVE, "give-back@3", 2)
    (event,) = moves(world)
    assert event.actor == OPERATOR
    assert world.kinds.count(EventKind.EXECUTION_ASSIGNED) == 1
    assert world.executions.statuses[f"{RUN_ID}-e2"] is ExecutionStatus.RUNNING
    assert EventKind.REVIEW_ENDED in world.kinds
    world.definition = REWORDED
    go_on(world)
    assert world.run().state is RunState.COMPLETED
    assert len(world.payments.calls) == 1


def test_given_a_version_that_is_gone_when_a_migration_leads_on_then_a_move_is_the_way_on() -> None:
    world = replaced(in_review(an_approved_world()), deployed_too=False)
    assert world.versions is not None
    world.versions = Versions({REWORDED.version: REWORDED}, world.versions.migrations)
    world.definition = retired_definition(world.ledger)

    assert not offer(world, RESUME).allowed
    act(world, MOVE)

    assert world.run().workflow == REWORDED.version
    world.definition = REWORDED
    go_on(world)
    assert world.run().state is RunState.COMPLETED


def test_given_an_orchestrator_that_is_silent_when_moved_then_the_sweeper_starts_the_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = replaced(in_review(an_approved_world()))

    def silent(*_: object) -> None:
        raise RetryLater("no answer")

    with monkeypatch.context() as patched:
        patched.setattr(world.executions, "start", silent)
        act(world, MOVE)

    assert world.run().workflow == REWORDED.version
    world.clock.move_to(world.run().due_at_ms or 0)
    world.sweep()
    assert world.executions.statuses[f"{RUN_ID}-e2"] is ExecutionStatus.RUNNING


def test_given_a_version_that_is_gone_and_no_migration_then_the_move_is_refused() -> None:
    world = in_review(an_approved_world())
    world.definition = retired_definition(world.ledger)

    found = offer(world, MOVE)

    assert not found.allowed
    assert "No migration from give-back@2" in found.refused_because
    with pytest.raises(RequestRefused, match="No migration"):
        act(world, MOVE)


@pytest.mark.parametrize("known", [Versions({DEFINITION.version: DEFINITION}), Versions(), None])
def test_given_the_newest_version_then_there_is_nothing_to_move_to(known: Versions | None) -> None:
    world = in_review(an_approved_world())
    world.versions = known

    assert MOVE not in {found.action.value for found in offered(world)}


@pytest.mark.parametrize(
    ("world", "words"),
    [
        (an_approved_world(), "The run is not in review."),
        (refund_overdue(), "An effect is unsettled and may be done already: reconcile it first."),
        (refund_rejected(), "An effect is refused or in conflict"),
        (SITUATIONS["mail_in_doubt"](), "Whether the mail went out is in doubt"),
        (SITUATIONS["completed"](), "The run is not in review."),
    ],
    ids=["active", "unknown", "refused", "mail in doubt", "completed"],
)
def test_given_a_run_that_must_not_be_moved_now_then_the_move_is_refused_with_the_reason(
    world: World, words: str
) -> None:
    replaced(world)

    found = offer(world, MOVE)

    assert not found.allowed
    assert words in found.refused_because
    with pytest.raises(RequestRefused):
        act(world, MOVE)
    assert moves(world) == []


def test_given_records_that_do_not_fit_then_the_move_is_refused_with_what_does_not() -> None:
    world = in_review(refund_confirmed())
    replaced(world, renumbered(definition=altered("operations", 0, provider="post")))

    assert "refund is on record at payments" in offer(world, MOVE).refused_because
