"""What a provider, or a person at its dashboard, says after we had proof."""

import pytest

from ledger.event import EventKind
from ledger.offer import RecoveryAction
from ledger.transitions import EffectState, RunState
from tests.recovery.desk import choose, renewal_is_off
from tests.recovery.invariants import check_invariants
from tests.recovery.scenario import HOUR_MS, finish, posts, refund_of
from tests.recovery.world import World

DAY_MS = 24 * HOUR_MS


def look_again_when_due(world: World) -> None:
    """Let the sweeper make the next read that is owed to a run that has ended."""
    due_at_ms = world.ledger.run.due_at_ms
    assert due_at_ms is not None
    world.clock.move_to(due_at_ms)
    world.tick()
    check_invariants(world)


def scripted(*statuses: tuple[int, str]) -> World:
    """Return a world whose refund goes through ``statuses``, seconds after it was made."""
    world = World()
    world.stripe.world.next_refund_script = statuses
    return world


class TestARefundThatFailsAfterItSucceeded:
    def failed_after_days(self) -> World:
        world = scripted((0, "succeeded"), (3 * 24 * 3600, "failed"))
        finish(world)
        assert world.ledger.run.state is RunState.COMPLETED
        return world

    def test_is_found_by_the_read_that_follows_and_reopens_the_run(self) -> None:
        world = self.failed_after_days()
        look_again_when_due(world)
        assert refund_of(world.ledger).state is EffectState.CONFIRMED
        look_again_when_due(world)
        assert refund_of(world.ledger).state is EffectState.CONTRADICTED
        assert world.ledger.run.state is RunState.REVIEW
        assert "refund was confirmed, and now: the provider says failed" in (
            world.ledger.run.review_reason
        )

    def test_is_paid_again_only_by_a_new_yes_under_another_key(self) -> None:
        world = self.failed_after_days()
        for _ in range(2):
            look_again_when_due(world)
        choose(world, RecoveryAction.RECONCILE)
        assert refund_of(world.ledger).state is EffectState.REJECTED
        assert len(posts(world)) == 1
        world.stripe.world.next_refund_script = ((0, "succeeded"),)
        choose(world, RecoveryAction.REQUEST_APPROVAL)
        world.run()
        first, second = [key for key, _ in posts(world)]
        assert first != second
        refunds = {
            found.instance: found.state
            for found in world.ledger.effects
            if found.operation == "refund"
        }
        assert refunds == {1: EffectState.REJECTED, 2: EffectState.CONFIRMED}
        check_invariants(world)
        assert world.ledger.run.state is RunState.COMPLETED

    def test_is_followed_by_a_receipt_that_quotes_the_refund_in_its_place(self) -> None:
        world = self.failed_after_days()
        for _ in range(2):
            look_again_when_due(world)
        choose(world, RecoveryAction.RECONCILE)
        world.stripe.world.next_refund_script = ((0, "succeeded"),)
        choose(world, RecoveryAction.REQUEST_APPROVAL)
        world.run()
        first, second = world.stripe.world.refunds
        assert [first.id in mail.text for mail in world.ses.sent] == [True, False]
        assert [second.id in mail.text for mail in world.ses.sent] == [False, True]

    def test_is_not_told_again_when_it_turns_out_to_stand_after_all(self) -> None:
        world = scripted((0, "succeeded"), (3 * 24 * 3600, "failed"), (6 * 24 * 3600, "succeeded"))
        finish(world)
        for _ in range(2):
            look_again_when_due(world)
        world.clock.pass_ms(2 * DAY_MS)
        choose(world, RecoveryAction.RECONCILE)
        choose(world, RecoveryAction.RESUME)
        world.run()
        check_invariants(world)
        assert world.ledger.run.state is RunState.COMPLETED
        assert len(world.ses.sent) == 1


class TestARunThatHasEnded:
    def test_is_read_four_times_in_thirty_days_and_then_left_alone(self) -> None:
        world = World()
        finish(world)
        ended_at_ms = world.clock.now_ms()
        for _ in range(4):
            look_again_when_due(world)
        assert world.ledger.run.due_at_ms is None
        kinds = [event.kind for event in world.events]
        assert kinds.count(EventKind.RECHECKED) == 4
        assert 29 * DAY_MS < world.clock.now_ms() - ended_at_ms < 31 * DAY_MS
        assert world.ledger.run.state is RunState.COMPLETED


class TestTheRenewalIsSwitchedOnAgainInBetween:
    def test_the_refund_that_rests_on_its_end_is_not_made(self) -> None:
        world = World()
        world.run_until(renewal_is_off)
        world.stripe.world.switch_renewal("sub_1", on=True)
        world.run()
        check_invariants(world)
        assert posts(world) == []
        assert world.ledger.run.state is RunState.REVIEW
        assert "cancel_renewal was confirmed, and now:" in world.ledger.run.review_reason
        assert world.ses.sent == []


class TestADisputeIsOpened:
    def test_before_the_refund_it_is_not_made(self) -> None:
        world = World()
        world.run_until(renewal_is_off)
        world.stripe.world.open_dispute("ch_1")
        world.run()
        check_invariants(world)
        assert posts(world) == []
        assert "the charge is disputed" in world.ledger.run.review_reason

    def test_after_the_refund_it_is_remarked_and_the_refund_stands(self) -> None:
        world = World()
        finish(world)
        world.stripe.world.open_dispute("ch_1")
        look_again_when_due(world)
        refund = refund_of(world.ledger)
        assert refund.state is EffectState.CONFIRMED
        assert refund.remarks == ("the charge is disputed",)
        assert world.ledger.run.state is RunState.COMPLETED


@pytest.mark.parametrize("theirs_minor", [1_000, 2_100])
def test_a_colleagues_refund_after_ours_is_remarked_and_nothing_of_ours_is_changed(
    theirs_minor: int,
) -> None:
    world = World()
    finish(world)
    theirs = world.stripe.world.make_refund("ch_1", theirs_minor)
    look_again_when_due(world)
    refund = refund_of(world.ledger)
    assert refund.state is EffectState.CONFIRMED
    assert refund.remarks == (f"{theirs.id} (succeeded) at the same target was not made by us",)
