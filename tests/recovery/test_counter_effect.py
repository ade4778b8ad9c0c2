"""The renewal is off, the refund impossible: what was done is taken back on a yes to it alone."""

from collections.abc import Sequence

import pytest

from ledger.approve import Decision
from ledger.effect import Effect
from ledger.event import Actor, EventKind
from ledger.notice import look_again
from ledger.offer import RecoveryAction
from ledger.transitions import EffectState, RunState
from providers.stripe_api import MARK
from tests.fakes.stripe import Fault as StripeFault
from tests.recovery.desk import choose, offered
from tests.recovery.invariants import check_invariants
from tests.recovery.tap import Call, Fault, Strike
from tests.recovery.world import World

SUBSCRIPTION = "sub_1"
# Once it is on again the run cannot do what it was asked for: a person closes it.
TAKEN_BACK = "What was done is taken back"
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
    check_invariants(world, only_closing_because=TAKEN_BACK)
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
        # What was taken back on the customer's word is no contradiction, however late a read ends.
        assert effect_of(world, "cancel_renewal").state is EffectState.CONFIRMED, call
        check_invariants(world, only_closing_because=TAKEN_BACK)
        assert not renewal_is_off(world)
        assert len(set(switched(world))) == 2
        assert effect_of(world, "resume_renewal").state is EffectState.CONFIRMED
        assert world.ledger.run.state is RunState.REVIEW
        confirmed = [e for e in world.events if e.kind is EventKind.EFFECT_CONFIRMED]
        assert len(confirmed) == 2


def test_a_renewal_that_another_run_ended_since_is_not_switched_on_again() -> None:
    # Given a customer who has agreed, and a renewal that was on and ended again by another run.
    world = agreed()
    (subscription,) = world.stripe.world.subscriptions.values()
    assert subscription.metadata[MARK] == effect_of(world, "cancel_renewal").effect_id
    subscription.metadata[MARK] = "eff_of_another_run"

    # When the sweeper comes by.
    world.run()

    # Then what the other run did stands, and a person looks.
    check_invariants(world)
    assert renewal_is_off(world)
    assert len(switched(world)) == 1
    assert world.ledger.run.state is RunState.REVIEW
    assert "no longer carries the mark" in world.ledger.run.review_reason


def refund_comes_after_all() -> World:
    """Return a world in which the refund that had failed succeeds hours later."""
    world = World()
    world.stripe.world.next_refund_script = ((0, "pending"), (600, "failed"), (7200, "succeeded"))
    world.run()
    assert effect_of(world, "refund").state is EffectState.REJECTED
    return world


def stripe_tells_of_the_refund(world: World) -> None:
    """Let the provider's notice come, upon which the refund is read again."""
    run_id, refund = world.ledger.run.run_id, effect_of(world, "refund")
    stripe = Actor(kind="reconciler", actor_id="stripe-notice")
    world.processes.run(
        "webhook", lambda ports: look_again(ports, run_id, refund.effect_id, stripe)
    )


def test_a_refund_that_comes_while_the_customer_is_asked_ends_the_question() -> None:
    # Given a customer who is asked, because the refund had failed.
    world = refund_comes_after_all()
    offers_to_switch_it_on(world)
    world.customer.next_at_ms = world.clock.now_ms() + 10 * 3600_000
    world.clock.pass_ms(9 * 3600_000)

    # When the refund is found made after all, and the customer answers later.
    stripe_tells_of_the_refund(world)
    assert effect_of(world, "refund").state is EffectState.CONFIRMED
    assert "refund is no longer refused" in world.ledger.run.review_reason
    world.run()

    # Then the renewal stays ended, for the money was paid back.
    assert renewal_is_off(world)
    assert len(switched(world)) == 1
    # And the run can go on as it was asked for.
    choose(world, RecoveryAction.RESUME)
    world.run()
    assert world.ledger.run.state is RunState.COMPLETED
    assert renewal_is_off(world)


def test_a_yes_that_ran_out_does_not_keep_the_run_from_going_on() -> None:
    # Given a yes that nobody acted on before it ran out, and a refund that comes later.
    world = refund_comes_after_all()
    offers_to_switch_it_on(world)
    world.sweeper_runs = False
    world.run_until(lambda ledger: ledger.run.state is RunState.ACTIVE)
    world.clock.pass_ms(25 * 3600_000)
    world.sweeper_runs = True
    world.run()
    stripe_tells_of_the_refund(world)

    # When an operator lets the run go on.
    choose(world, RecoveryAction.RESUME)
    world.run()

    # Then it does what it was asked for.
    assert world.ledger.run.state is RunState.COMPLETED
    assert renewal_is_off(world)


def test_while_nobody_knows_whether_it_is_on_again_nobody_is_told_that_it_is_off() -> None:
    # Given a write of ours that switched the renewal on, and whose answer was lost.
    world = agreed()
    world.stripe.fail_next(StripeFault.COMMIT_THEN_DROP, path_prefix="/v1/subscriptions")
    world.run_until(
        lambda ledger: any(
            found.operation == "resume_renewal" and found.state is EffectState.UNKNOWN
            for found in ledger.effects
        )
    )
    assert not renewal_is_off(world)

    # When the customer looks.
    said = world.customer.read()

    # Then nothing says that it is off.
    assert said is not None
    assert "the renewal is off" not in str(said["body"])
    assert "whether it was taken back since is not proven" in str(said["body"])
