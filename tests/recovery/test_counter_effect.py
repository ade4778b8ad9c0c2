"""The renewal is off, the refund impossible: what was done is taken back on a yes to it alone."""

from collections.abc import Sequence

import pytest

from ledger.approve import Decision
from ledger.effect import Effect
from ledger.event import EventKind
from ledger.offer import RecoveryAction
from ledger.transitions import EffectState, RunState
from tests.recovery.desk import choose, offered
from tests.recovery.invariants import check_invariants
from tests.recovery.tap import Call, Fault, Strike
from tests.recovery.world import World

SUBSCRIPTION = "sub_1"
COUNTER = {"customer_id": "cus_1", "subscription_id": SUBSCRIPTION, "cancel_at": "never"}


def refund_impossible(faults: Sequence[Fault] = ()) -> World:
    """Return a world in which the renewal was ended and the refund has failed for good."""
    world = World(faults)
    world.stripe.world.next_refund_script = ((0, "pending"), (600, "failed"))
    world.run()
    check_invariants(world)
    assert renewal_is_off(world)
    assert effect_of(world, "refund").state is EffectState.REJECTED
    return world


def renewal_is_off(world: World) -> bool:
    """Return what the billing system holds."""
    (subscription,) = world.stripe.world.subscriptions.values()
    return bool(subscription.cancel_at_period_end)


def effect_of(world: World, operation: str) -> Effect:
    """Return the newest effect of an operation."""
    found = world.ledger.newest_effect(operation)
    assert found is not None
    return found


def switched(world: World) -> list[bytes]:
    """Return every write that was asked of the billing system."""
    return [post.body for post in world.stripe.posts() if "/subscriptions/" in post.path]


def offers_to_switch_it_on(world: World, decision: Decision = Decision.APPROVE) -> list[object]:
    """Let an operator offer it, and the customer answer; return what the customer is shown."""
    shown: list[object] = []
    (subscription,) = world.stripe.world.subscriptions.values()
    wanted = {**COUNTER, "subscription_id": subscription.id, "customer_id": subscription.customer}

    def look(payload: object, _wanted: object) -> None:
        assert payload == {"resume_renewal": wanted}
        shown.append(payload)

    world.customer._check_shown = look
    world.customer.decision = decision
    world.customer.next_at_ms = world.clock.now_ms() + 1000
    choose(world, RecoveryAction.OFFER_COUNTER)
    return shown


def test_it_is_offered_with_its_consequence_and_nothing_happens_by_itself() -> None:
    world = refund_impossible()

    found = offered(world)[RecoveryAction.OFFER_COUNTER]

    assert found.allowed
    assert found.label == "Offer to switch the renewal on again"
    assert found.consequence.writes == ("Renewal switched on again",)
    assert not found.consequence.moves_money
    world.run()
    assert renewal_is_off(world)
    assert len(switched(world)) == 1


def test_once_the_customer_agrees_the_renewal_is_on_and_everybody_hears_the_same() -> None:
    # Given a renewal that was ended, a refund that failed, and an operator who offers to go back.
    world = refund_impossible()
    shown = offers_to_switch_it_on(world)

    # When the customer agrees and the sweeper comes by.
    world.run()

    # Then it was written once, as an effect of its own on a yes of its own, and read back.
    check_invariants(world)
    effect, ending = effect_of(world, "resume_renewal"), effect_of(world, "cancel_renewal")
    assert shown
    assert not renewal_is_off(world)
    assert len(switched(world)) == 2
    assert effect.state is EffectState.CONFIRMED
    assert effect.compensates == ending.effect_id
    assert effect.idempotency_key != ending.idempotency_key
    assert effect.approval_id not in (None, ending.approval_id)
    # And the run waits for a person to close it; the customer is told what holds.
    assert "as the customer approved" in world.ledger.run.review_reason
    assert world.ses.sent == []
    said = world.customer.read()
    assert said is not None
    assert "confirmed, and taken back since with your approval" in str(said["body"])
    assert "the renewal is off" not in str(said["body"])
    choose(world, RecoveryAction.CLOSE)
    assert world.ledger.run.state is RunState.CLOSED


def test_a_customer_who_declines_keeps_what_was_done() -> None:
    world = refund_impossible()
    offers_to_switch_it_on(world, Decision.DECLINE)

    world.run()

    check_invariants(world)
    assert renewal_is_off(world)
    assert len(switched(world)) == 1
    assert world.ledger.run.state is RunState.REVIEW


def agreed(*faults: Fault) -> World:
    """Return a world in which the customer has agreed and nobody has looked since."""
    world = refund_impossible(faults)
    offers_to_switch_it_on(world)
    world.run_until(lambda ledger: ledger.run.state is RunState.ACTIVE)
    assert world.ledger.counter_approval() is not None
    return world


def calls_that_make_it() -> list[Call]:
    """Return the sweeper's and the worker's calls from the yes until a person has the run."""
    world = agreed()
    before = len(world.tap.calls)
    world.run_until(lambda ledger: ledger.run.state is RunState.REVIEW)
    return [call for call in world.tap.calls[before:] if call.process in ("sweeper", "worker")]


@pytest.mark.parametrize("strike", list(Strike))
def test_whatever_fails_while_it_is_made_it_is_made_once(strike: Strike) -> None:
    calls = calls_that_make_it()
    assert len(calls) > 10
    for call in calls:
        if not call.can_meet(strike):
            continue
        # Given a customer who has agreed, and a sweeper or worker that is struck at a call.
        world = agreed(Fault(call.index, strike))

        # When everybody goes on.
        world.run()

        # Then the renewal is on by one write of ours, proven, and a person has the run.
        assert world.tap.struck, call
        check_invariants(world)
        assert not renewal_is_off(world)
        assert len(set(switched(world))) == 2
        assert effect_of(world, "resume_renewal").state is EffectState.CONFIRMED
        assert world.ledger.run.state is RunState.REVIEW
        confirmed = [e for e in world.events if e.kind is EventKind.EFFECT_CONFIRMED]
        assert len(confirmed) == 2
