"""An offer to take something back ends with its review or its reason; doubt about it is told."""

from collections.abc import Callable

import pytest

from ledger.approve import Decision
from ledger.draft import Draft
from ledger.effect import Effect
from ledger.errors import ReviewRequired
from ledger.event import EventKind
from ledger.run import RunLedger
from ledger.settle import reopen_unknown
from ledger.sweep import SweepResult
from ledger.transitions import EffectState, RunState
from tests.unit.ledger.desk import (
    AGAIN,
    CLOSE,
    RECONCILE,
    SENT,
    UNDO,
    act,
    facts_of,
    offer,
    packet,
    told,
)
from tests.unit.ledger.sample import (
    CARD_DECLINED,
    LEASE_SECONDS,
    NO_ANSWER,
    REFUND_ID,
    SETTLE_WINDOW_SECONDS,
)
from tests.unit.ledger.scripted_provider import Step
from tests.unit.ledger.support import World, given
from tests.unit.ledger.test_counter import (
    agreed,
    answer,
    counter_of,
    fee_refused,
    made,
    offered_back,
    refunded,
    tick,
)

CLAIM = "The payment provider confirms the refund."


def fee_of(world: World) -> Effect:
    """Return the newest fee."""
    fee = world.ledger.newest_effect("fee")
    assert fee is not None
    return fee


def a_mail(world: World, state: EffectState) -> Effect:
    """Return a receipt in ``state``, on record."""
    mail = world.effect().model_copy(
        update={
            "effect_id": "eff_mail",
            "operation": "receipt",
            "provider": "post",
            "checkpoint": "receipt_sent",
            "approval_id": None,
            "evidence": None,
            "state": state,
        }
    )
    given(world, mail)
    return mail


def looks(world: World) -> None:
    """Send the run to review for something else."""
    world.change(lambda draft: draft.send_to_review("somebody looks"))


def goes_on(world: World) -> None:
    """Let the run go on, whoever it is that wants it to."""
    world.change(lambda draft: draft.move_run(RunState.ACTIVE, EventKind.REVIEW_ENDED, "goes on"))


def withdrawn(ledger: RunLedger) -> bool:
    """Return whether the newest approval covers nothing any more."""
    newest = ledger.newest_approval()
    assert newest is not None
    return newest.withdrawn


def lost() -> World:
    """Return a world in which the answer about the counter-effect was lost."""
    world = agreed()
    world.payments.script = [Step(None, NO_ANSWER)]
    tick(world)
    assert counter_of(world).state is EffectState.UNKNOWN
    return world


def test_given_an_unused_yes_when_the_run_was_in_review_then_going_on_makes_nothing() -> None:
    # Given a yes to taking back, and a run that went to review before it was used.
    world = agreed()
    looks(world)

    # When somebody lets the run go on.
    goes_on(world)
    tick(world)

    # Then nothing is taken back, and the trail says that the yes had ended.
    assert made(world) == 0
    assert withdrawn(world.ledger)
    newest = world.ledger.newest_approval()
    assert newest is not None
    lapsed = [e for e in world.events if e.kind is EventKind.APPROVAL_LAPSED]
    assert [e.subject for e in lapsed] == [newest.approval_id]


def test_given_a_request_without_an_answer_when_the_run_was_in_review_then_it_waits_no_more() -> (
    None
):
    world = offered_back()
    looks(world)

    assert world.ledger.pending_approval() is None
    assert withdrawn(world.ledger)


def test_given_a_yes_that_ended_when_offered_anew_then_a_new_yes_makes_it_once() -> None:
    world = agreed()
    looks(world)

    act(world, UNDO, REFUND_ID)
    answer(world, Decision.APPROVE)

    assert tick(world) == SweepResult.COUNTER
    assert made(world) == 1
    assert counter_of(world).state is EffectState.CONFIRMED


def test_given_a_yes_that_ran_out_then_it_is_over_and_the_run_can_go_on() -> None:
    world = agreed()
    world.pass_seconds(24 * 3600 * 7)
    tick(world)

    assert withdrawn(world.ledger)
    assert world.ledger.counter_approval() is None


def test_given_an_attempt_without_effect_when_the_run_goes_on_later_then_it_is_not_made_again() -> (
    None
):
    # Given a counter-effect of which the answer was lost, and a review for something else.
    world = lost()
    looks(world)

    # When it is proven absent, and somebody lets the run go on.
    for _ in range(6):
        world.pass_seconds(LEASE_SECONDS + SETTLE_WINDOW_SECONDS)
        if counter_of(world).unsettled:
            act(world, RECONCILE)
    assert counter_of(world).state is EffectState.PLANNED
    before = made(world)
    goes_on(world)
    tick(world)

    # Then it is not made again.
    assert made(world) == before
    assert withdrawn(world.ledger)


def test_given_a_record_that_was_written_since_then_what_others_did_is_not_undone() -> None:
    # Given a yes, and a record that is equal and no longer carries our mark.
    world = agreed()
    world.payments.held[:] = [
        found.model_copy(update={"mark": None}) if found.mark == REFUND_ID else found
        for found in world.payments.held
    ]

    tick(world)

    assert made(world) == 0
    assert world.effect().state is EffectState.CONFIRMED
    assert world.run().state is RunState.REVIEW
    assert "no longer carries the mark of refund" in world.run().review_reason


@pytest.mark.parametrize("asked", [offered_back, agreed])
def test_given_a_refusal_that_is_in_doubt_again_then_the_offer_ends(
    asked: Callable[[], World],
) -> None:
    world = asked()

    def reopen(draft: Draft) -> None:
        reopen_unknown(draft, fee_of(world), "it may be there after all")

    world.change(reopen)

    assert world.run().state is RunState.REVIEW
    assert "fee is no longer refused" in world.run().review_reason
    assert withdrawn(world.ledger)


def test_given_a_refused_write_that_was_made_after_all_then_the_claim_finds_no_reason() -> None:
    world = agreed()
    given(world, fee_of(world).model_copy(update={"state": EffectState.CONFIRMED}))

    tick(world)

    assert made(world) == 0
    assert world.run().state is RunState.REVIEW
    assert "What was to follow it is confirmed: fee" in world.run().review_reason


@pytest.mark.parametrize("fee_is_made", [True, False])
def test_given_only_a_refused_mail_then_taking_back_is_not_offered(*, fee_is_made: bool) -> None:
    world = refunded()
    if fee_is_made:
        world.perform("fee")
    a_mail(world, EffectState.REJECTED)
    looks(world)

    found = offer(world, UNDO, REFUND_ID)

    words = "is confirmed: fee" if fee_is_made else "Nothing that was to follow it was refused"
    assert words in found.refused_because


def test_given_a_counter_effect_in_doubt_then_nobody_is_told_that_the_refund_stands() -> None:
    world = lost()

    def check() -> None:
        customer, model = told(world), packet(world)
        refund = next(e for e in customer.effects if e.operation == "refund")
        assert CLAIM not in customer.proven
        assert "whether it was taken back since is not proven" in refund.status
        assert refund.fields == {}
        (fact,) = (e for e in model.effects if e.operation == "refund")
        assert fact.may_be_undone
        assert fact.fields == {}
        assert "whether it was taken back since is not proven" in model.summary
        assert next(e for e in facts_of(world).effects if e.operation == "refund").may_be_undone

    check()
    looks(world)
    act(world, CLOSE)
    check()


def test_given_a_counter_effect_that_was_refused_then_the_refund_stands_as_before() -> None:
    world = agreed()
    world.payments.script = [Step(None, CARD_DECLINED)]
    tick(world)
    assert counter_of(world).state is EffectState.REJECTED

    assert CLAIM in told(world).proven
    assert "confirmed" in {e.status for e in told(world).effects if e.operation == "refund"}


def test_given_it_was_taken_back_then_the_model_gets_no_proven_fields_of_it() -> None:
    world = agreed()
    tick(world)

    facts = {found.operation: found for found in packet(world).effects}

    assert facts["refund"].undone
    assert facts["refund"].fields == {}
    assert not facts["take_back"].undone
    assert facts["take_back"].fields


def test_given_it_was_taken_back_then_no_mail_is_decided_about() -> None:
    world = agreed()
    tick(world)
    mail = a_mail(world, EffectState.UNKNOWN)

    for action in (AGAIN, SENT):
        assert "taken back" in offer(world, action, mail.effect_id).refused_because


def test_given_taking_back_in_doubt_then_that_comes_before_a_mail() -> None:
    world = lost()
    mail = a_mail(world, EffectState.REJECTED)
    looks(world)

    assert "reconcile it first" in offer(world, AGAIN, mail.effect_id).refused_because


def test_given_a_frozen_worker_when_the_yes_ended_then_its_claim_is_refused() -> None:
    world = agreed()

    def meanwhile() -> None:
        looks(world)
        goes_on(world)

    world.payments.during_authority = meanwhile

    tick(world)

    assert made(world) == 0


def test_given_a_fee_that_is_refused_again_then_the_offer_is_still_there() -> None:
    world = fee_refused()

    with pytest.raises(ReviewRequired):
        world.perform("fee")

    assert offer(world, UNDO, REFUND_ID).allowed
