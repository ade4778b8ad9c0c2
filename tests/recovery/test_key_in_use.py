"""Stripe says that a key is in use: the trail names it, and the refund is read before anything."""

import json

import pytest

from ledger.event import EventKind
from ledger.transitions import RunState
from providers.stripe_transport import Answer
from tests.recovery.desk import renewal_is_off
from tests.recovery.scenario import finish, posts, refund_of, refund_path
from tests.recovery.world import World


@pytest.mark.parametrize(
    ("status", "code", "named"),
    [
        (409, "idempotency_key_in_use", "same_key_again"),
        (400, "charge_already_refunded", "compare"),
        (409, "another_word", "unknown"),
    ],
)
def test_given_what_stripe_says_when_nothing_was_made_then_it_is_named_and_the_key_goes_out_again(
    status: int, code: str, named: str
) -> None:
    world = World()
    world.run_until(renewal_is_off)
    content = json.dumps({"error": {"type": "api_error", "code": code}}).encode()
    world.outside.next_answers = [Answer(status, {}, content)]

    finish(world)

    refund = refund_of(world.ledger)
    (unknown,) = [found for found in world.events if found.kind is EventKind.EFFECT_UNKNOWN]
    assert f"({named}): " in unknown.reason
    kinds = [found.kind for found in world.events if found.subject == refund.effect_id]
    assert kinds.index(EventKind.EFFECT_UNKNOWN) < kinds.index(EventKind.ABSENCE_PROVEN)
    assert refund_path(world)[:4] == ["planned", "attempting", "unknown", "planned"]
    assert refund.generation == 1
    assert [key for key, _ in posts(world)] == [refund.idempotency_key]
    assert world.ledger.run.state is RunState.COMPLETED
