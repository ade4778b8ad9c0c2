"""A planned receipt quotes the evidence there is, not the evidence there was."""

import pytest

from ledger.attempt import AttemptOutcome
from ledger.effect import Effect, Evidence
from ledger.errors import ProviderUnavailable, ReviewRequired
from ledger.transitions import EffectState, RunState
from tests.builders import an_attempt
from tests.unit.ledger.sample import NEVER_SENT
from tests.unit.ledger.scripted_provider import Step
from tests.unit.ledger.support import World, an_approved_world, given


def a_world_whose_receipt_was_planned_for_another_refund() -> World:
    world = an_approved_world()
    world.perform()
    world.post.script = [Step(None, NEVER_SENT)]
    with pytest.raises(ProviderUnavailable):
        world.perform("receipt")
    world.pass_seconds(2)
    quote_another_refund(world)
    return world


def quote_another_refund(world: World) -> None:
    [record] = world.payments.held
    refund = world.effect()
    assert refund.evidence is not None
    other: Evidence = refund.evidence.model_copy(update={"record_id": "re_other"})
    world.payments.held = [record.model_copy(update={"record_id": "re_other"})]
    checkpoint = world.ledger.proven("refund_confirmed")
    assert checkpoint is not None
    given(
        world,
        refund.model_copy(update={"evidence": other}),
        checkpoint.model_copy(update={"evidence": other}),
    )


def the_receipt(world: World) -> Effect:
    receipt = world.ledger.newest_effect("receipt")
    assert receipt is not None
    return receipt


def test_a_receipt_that_was_never_sent_is_planned_again_on_new_evidence() -> None:
    world = a_world_whose_receipt_was_planned_for_another_refund()
    first = the_receipt(world)

    sent = world.perform("receipt")

    assert first.bound["refund_id"] != "re_other"
    assert sent.bound["refund_id"] == "re_other"
    assert sent.idempotency_key != first.idempotency_key
    # What was tried before still counts.
    assert [found.outcome for found in sent.attempts] == [
        AttemptOutcome.NOT_REACHED,
        AttemptOutcome.ACCEPTED,
    ]


def test_a_receipt_that_may_have_been_sent_is_not_planned_again() -> None:
    world = a_world_whose_receipt_was_planned_for_another_refund()
    lost = an_attempt(outcome=AttemptOutcome.ABSENT)
    given(world, the_receipt(world).model_copy(update={"attempts": (lost,)}))
    sent_before = len(world.post.calls)

    with pytest.raises(ReviewRequired, match="quotes evidence that has changed"):
        world.perform("receipt")

    assert len(world.post.calls) == sent_before
    assert the_receipt(world).state is EffectState.PLANNED
    assert world.run().state is RunState.REVIEW
