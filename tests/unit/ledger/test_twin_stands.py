"""Of two refunds that were confirmed the newer one is gone: the older one proves the claim."""

import pytest

from ledger.attempt import AttemptOutcome
from ledger.draft import Draft
from ledger.effect import Effect
from ledger.errors import ReviewRequired
from ledger.idempotency import effect_id_for
from ledger.provider import RecordStatus
from ledger.settle import settle_not_reached
from ledger.transitions import EffectState, RunState
from tests.builders import an_attempt, evidence
from tests.unit.ledger.desk import ASK, RECONCILE, RESUME, act, go_on, offer
from tests.unit.ledger.notices import notified
from tests.unit.ledger.sample import REFUND_ID, RUN_ID, a_record, a_refund
from tests.unit.ledger.situations import refund_confirmed, refund_made_twice
from tests.unit.ledger.support import World, an_approved_world, given

SECOND_ID = effect_id_for(RUN_ID, "refund", 2)


def the_newer_is_cancelled() -> World:
    """Return a world in which a person cancelled the newer of two refunds, and it was read."""
    world = refund_made_twice()
    world.payments.held = [
        found.model_copy(
            update={"status": RecordStatus.FAILED, "provider_status": "canceled"}
            if found.mark == SECOND_ID
            else {}
        )
        for found in world.payments.held
    ]
    notified(world, SECOND_ID)
    act(world, RECONCILE)
    world.reconcile()
    assert world.effect(SECOND_ID).state is EffectState.REJECTED
    assert world.effect(REFUND_ID).state is EffectState.CONFIRMED
    return world


def test_given_the_newer_of_two_is_cancelled_when_read_then_the_older_one_proves_the_claim() -> (
    None
):
    world = the_newer_is_cancelled()

    proof = world.ledger.proven("refund_confirmed")
    older = world.effect(REFUND_ID)

    assert proof is not None
    assert (proof.effect_id, proof.evidence) == (REFUND_ID, older.evidence)
    assert not offer(world, ASK).allowed


def test_given_the_newer_of_two_is_cancelled_when_resumed_then_the_run_ends_on_the_older_one() -> (
    None
):
    world = the_newer_is_cancelled()
    calls = len(world.payments.calls)

    act(world, RESUME)
    go_on(world)

    assert world.run().state is RunState.COMPLETED
    assert len(world.payments.calls) == calls
    assert world.post.calls[-1].bound["refund_id"] == "re_late"


def twins(newer: Effect) -> World:
    """Return a world whose first refund is confirmed and proves nothing, beside a newer one."""
    world = an_approved_world()
    older = a_refund(EffectState.CONFIRMED, approval_id="apr_1", evidence=evidence())
    given(world, older, newer)
    assert world.ledger.proven("refund_confirmed") is None
    return world


def a_newer(state: EffectState, **overrides: object) -> Effect:
    """Return the second refund."""
    return a_refund(state, effect_id=SECOND_ID, instance=2, approval_id="apr_2", **overrides)


def never_left(draft: Draft) -> None:
    """Settle the second refund, whose request never left."""
    settle_not_reached(draft, draft.ledger.require_effect(SECOND_ID), "no route")


def proven_by(world: World) -> str | None:
    """Return the id of the effect that proves the refund, None without proof."""
    proof = world.ledger.proven("refund_confirmed")
    return proof.effect_id if proof else None


def test_given_the_newer_of_two_never_left_when_settled_then_the_older_one_proves_the_claim() -> (
    None
):
    world = twins(a_newer(EffectState.ATTEMPTING))

    world.change(never_left)

    assert proven_by(world) == REFUND_ID


def test_given_the_newer_of_two_is_absent_when_proven_then_the_older_one_proves_the_claim() -> None:
    newer = a_newer(EffectState.UNKNOWN, attempts=(an_attempt(outcome=AttemptOutcome.UNKNOWN),))
    world = twins(newer)
    world.payments.held.append(a_record())

    world.prove_absence()

    assert world.effect(SECOND_ID).state is EffectState.PLANNED
    assert proven_by(world) == REFUND_ID


@pytest.mark.parametrize(
    "other", [{"superseded": True}, {"approval_id": None}], ids=["superseded", "needs no approval"]
)
def test_given_an_older_one_that_does_not_count_when_the_newer_is_gone_then_it_proves_nothing(
    other: dict[str, object],
) -> None:
    world = twins(a_newer(EffectState.ATTEMPTING))
    given(world, world.effect(REFUND_ID).model_copy(update=other))

    world.change(never_left)

    assert proven_by(world) is None


def unprove(draft: Draft) -> None:
    """Withdraw the proof of the refund, which stays confirmed."""
    proof = draft.ledger.proven("refund_confirmed")
    assert proof is not None
    draft.withdraw(proof, "given")


def test_given_a_confirmed_refund_that_proves_nothing_when_performed_then_a_person_is_asked() -> (
    None
):
    world = refund_confirmed()
    world.change(unprove)

    with pytest.raises(ReviewRequired, match="refund_confirmed is not proven by it"):
        world.perform()

    assert world.run().state is RunState.REVIEW
    assert world.run().review_reason == (
        "refund is confirmed, and refund_confirmed is not proven by it."
    )
    assert len(world.payments.calls) == 1
