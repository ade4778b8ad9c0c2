"""A person who is waited for has something to do, it works, and a wedge would be noticed."""

import pytest

from ledger.approval import Approval, ApprovalState
from ledger.offer import Offer, RecoveryAction
from ledger.run import RunLedger
from ledger.transitions import RunState
from tests.recovery import way_on
from tests.recovery.desk import choose, offered
from tests.recovery.invariants import check_run
from tests.recovery.reviews import (
    charge_was_disputed,
    mail_in_doubt,
    refund_overdue,
    refund_refused,
)
from tests.recovery.scenario import is_awaiting
from tests.recovery.way_on import LONGEST_UNWATCHED_MS, WITHOUT_PROGRESS, check_has_a_way_on
from tests.recovery.world import World

REVIEWS = [mail_in_doubt, refund_refused, refund_overdue, charge_was_disputed]
TAKEN_BACK = "What was done is taken back"
each_review = pytest.mark.parametrize("reach", REVIEWS, ids=lambda found: found.__name__)


def altered(world: World, approval: Approval | None = None, **run: object) -> RunLedger:
    """Return the world's run with ``run`` in its head and no other approval than the one given."""
    ledger = world.ledger
    return RunLedger(
        run=ledger.run.model_copy(update=run),
        effects=ledger.effects,
        approvals=ledger.approvals if approval is None else (approval,),
        checkpoints=ledger.checkpoints,
    )


def check(world: World, approval: Approval | None = None, **run: object) -> None:
    """Check the world's run, altered."""
    check_has_a_way_on(altered(world, approval, **run), world.clock.now_ms())


@each_review
def test_given_a_review_when_any_way_on_is_taken_then_it_leads_somewhere(reach: object) -> None:
    assert callable(reach)
    world = World()
    reach(world)
    ways = [found.action for found in offered(world).values() if found.allowed]
    for action in ways:
        # Given another run in the same review.
        again = World()
        reach(again)
        again.outside.stripe_reachable = True
        again.customer._check_shown = lambda *_: None  # says yes to whatever is asked
        before = again.ledger

        # When an operator chooses it.
        choose(again, action)
        again.run()

        # Then something has come of it, and nothing was broken by it.
        taken_back = TAKEN_BACK if action is RecoveryAction.OFFER_COUNTER else ""
        check_run(again, again.ledger, only_closing_because=taken_back)
        assert again.ledger != before
        if action not in WITHOUT_PROGRESS:
            assert again.ledger.run.review_reason != before.run.review_reason, action


@each_review
def test_given_a_review_in_which_nothing_is_allowed_then_it_is_noticed(
    reach: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert callable(reach)
    world = World()
    reach(world)
    check(world)
    found = offered(world)

    def wedged(*_arguments: object) -> tuple[Offer, ...]:
        ways = [offer for offer in found.values() if offer.action not in WITHOUT_PROGRESS]
        none = {"allowed": False, "refused_because": "No."}
        rest = [offer for offer in found.values() if offer.action in WITHOUT_PROGRESS]
        return (*(offer.model_copy(update=none) for offer in ways), *rest)

    monkeypatch.setattr(way_on, "offers", wedged)

    with pytest.raises(AssertionError, match="nothing is left but to give up"):
        check(world)


def test_given_a_case_that_says_only_closing_is_left_when_there_is_more_then_it_is_noticed() -> (
    None
):
    world = World()
    refund_refused(world)

    with pytest.raises(AssertionError, match="more to do than closing"):
        check_has_a_way_on(world.ledger, world.clock.now_ms(), "An effect is refused")


def test_given_a_run_at_which_nobody_looks_then_it_is_noticed() -> None:
    world = World()
    world.run_until(lambda ledger: ledger.run.state is RunState.ACTIVE)
    check(world)

    with pytest.raises(AssertionError):
        check(world, due_at_ms=None)
    with pytest.raises(AssertionError, match="nobody looks for days"):
        check(world, due_at_ms=world.clock.now_ms() + LONGEST_UNWATCHED_MS + 1)


def test_given_a_customer_who_is_waited_for_without_end_then_it_is_noticed() -> None:
    world = World()
    world.run_until(is_awaiting)
    check(world)
    asked = world.ledger.pending_approval()
    assert asked is not None
    sooner = asked.model_copy(update={"expires_at_ms": world.clock.now_ms()})
    decided = asked.model_copy(update={"state": ApprovalState.APPROVED})

    for approval, words in ((sooner, "did not answer"), (decided, "asked nothing")):
        with pytest.raises(AssertionError, match=words):
            check(world, approval)


def test_the_actions_that_lead_nowhere_are_the_two_that_do_nothing() -> None:
    assert {RecoveryAction.CLOSE, RecoveryAction.MARK_ENGINEERING} == WITHOUT_PROGRESS
