"""People who work at Stripe's dashboard: marks edited, refunds cancelled, renewals ended there."""

from collections.abc import Callable
from typing import Any
from unittest import mock

import pytest

from ledger.event import Actor
from ledger.notice import look_again
from ledger.offer import RecoveryAction
from ledger.transitions import EffectState, RunState
from providers.stripe_api import MARK
from providers.stripe_billing import StripeBilling
from providers.stripe_refunds import StripeRefunds
from tests.fakes.stripe import Fault as StripeFault
from tests.fakes.stripe_world import StripeWorld
from tests.recovery.desk import choose, offered
from tests.recovery.scenario import HOUR_MS, REFUNDS, finish, posts, refund_is, refund_of
from tests.recovery.scenarios.cancel_refund import WANTED
from tests.recovery.world import World

NOTICE = Actor(kind="provider", actor_id="stripe")
PART_MINOR = 3_000  # so little that Stripe would take a second one
KEY_HAS_LAPSED_HOURS = 23.1


def part_wanted() -> World:
    """Return a world whose customer wants a part of the charge back."""
    return World(wanted={**WANTED, "amount_minor": PART_MINOR})


@pytest.mark.parametrize(
    "edit",
    [
        lambda mark: f"{mark} (ticket 4711)",
        lambda mark: mark[:-1],
        lambda mark: f"{mark[:-1]}{'a' if mark[-1] != 'a' else 'b'}",
        lambda _mark: "by hand",
    ],
    ids=["appended", "shortened", "one letter", "replaced"],
)
@pytest.mark.parametrize("hours", [0.0, KEY_HAS_LAPSED_HOURS], ids=["at once", "key lapsed"])
def test_given_a_lost_answer_and_an_edited_mark_when_the_key_lapses_then_nobody_is_paid_twice(
    edit: Callable[[str], str], hours: float
) -> None:
    world = part_wanted()
    world.stripe.fail_next(StripeFault.COMMIT_THEN_DROP, path_prefix=REFUNDS)
    world.run_until(refund_is(EffectState.UNKNOWN))
    (made,) = world.stripe.world.refunds
    made.metadata[MARK] = edit(made.metadata[MARK])

    world.clock.pass_ms(int(hours * HOUR_MS))
    world.run()

    assert [found.amount for found in world.stripe.world.refunds] == [PART_MINOR]
    assert len(posts(world)) == 1
    assert refund_of(world.ledger).state is EffectState.CONFLICT
    assert [found.record_id for found in refund_of(world.ledger).candidates] == [made.id]
    assert world.ledger.run.state is RunState.REVIEW


def the_newer_of_two_is_cancelled() -> World:
    """Return a world whose first refund is there after all, and whose second was cancelled."""
    world = part_wanted()
    world.stripe.fail_next(StripeFault.UNAUTHORIZED, path_prefix=REFUNDS)
    world.run()
    choose(world, RecoveryAction.REQUEST_APPROVAL)
    world.run()
    first, second = sorted(
        (found for found in world.ledger.effects if found.operation == "refund"),
        key=lambda found: found.instance,
    )
    run_id = world.ledger.run.run_id
    metadata = {MARK: first.effect_id, "run_id": run_id}
    world.stripe.world.make_refund("ch_1", PART_MINOR, metadata)
    _notice(world, first.effect_id)
    (made,) = world.stripe.world.refunds_marked(second.effect_id)
    made.script = ((0, "canceled"),)
    _notice(world, second.effect_id)
    choose(world, RecoveryAction.RECONCILE)
    return world


def _notice(world: World, effect_id: str) -> None:
    run_id = world.ledger.run.run_id
    world.processes.run("webhook", lambda ports: look_again(ports, run_id, effect_id, NOTICE))


def test_given_the_newer_of_two_refunds_is_cancelled_when_resumed_then_the_run_ends() -> None:
    world = the_newer_of_two_is_cancelled()
    sent = len(posts(world))
    proof = world.ledger.proven("refund_confirmed")
    assert proof is not None
    assert proof.evidence.record_id == "re_2"

    choose(world, RecoveryAction.RESUME)
    world.run()

    assert world.ledger.run.state is RunState.COMPLETED
    assert len(posts(world)) == sent


def test_given_the_newer_of_two_refunds_is_cancelled_when_asked_then_no_third_is_offered() -> None:
    world = the_newer_of_two_is_cancelled()

    assert not offered(world)[RecoveryAction.REQUEST_APPROVAL].allowed


def test_given_a_renewal_that_ends_on_a_date_when_a_run_is_asked_for_then_the_door_says_so() -> (
    None
):
    world = World()
    (subscription,) = world.stripe.world.subscriptions.values()
    subscription.cancel_at = world.clock.now_ms() // 1000 + 48 * 3600

    world.run(turns=1)

    (refusal,) = world.customer.refusals
    assert "the renewal is already ending" in str(refusal)
    assert world.runs() == []
    assert world.stripe.posts("/v1/subscriptions") == []


def test_given_a_renewal_that_is_given_an_end_meanwhile_when_due_then_it_is_left() -> None:
    world = World()
    world.run_until(lambda ledger: ledger.proven("account_confirmed") is not None)
    (subscription,) = world.stripe.world.subscriptions.values()
    subscription.cancel_at = world.clock.now_ms() // 1000 + 48 * 3600

    world.run()

    assert world.ledger.run.state is RunState.REVIEW
    assert "already ending" in world.ledger.run.review_reason
    assert world.stripe.posts("/v1/subscriptions") == []
    assert posts(world) == []


@pytest.mark.parametrize(
    ("adapter", "extra", "path"),
    [
        (StripeRefunds, {"reverse_transfer": True}, REFUNDS),
        (StripeBilling, {"proration_behavior": "always_invoice"}, "/v1/subscriptions"),
    ],
    ids=["refund", "renewal"],
)
def test_given_a_frozen_request_with_more_than_was_approved_when_due_then_it_is_never_sent(
    adapter: type[StripeRefunds | StripeBilling], extra: dict[str, Any], path: str
) -> None:
    real = adapter.compose
    with mock.patch.object(adapter, "compose", lambda self, intent: real(self, intent) | extra):
        world = World()
        world.run()

    assert world.stripe.posts(path) == []
    assert world.ledger.run.state is RunState.REVIEW
    assert "Nothing was sent" in world.ledger.run.review_reason


def test_given_a_status_of_any_length_when_read_then_the_acceptance_is_kept_and_ends_well() -> None:
    world = World()
    real = StripeWorld.export_refund

    def at_length(self: StripeWorld, made: Any) -> dict[str, Any]:
        return {**real(self, made), "status": "x" * 400_000}

    with mock.patch.object(StripeWorld, "export_refund", at_length):
        world.run_until(refund_is(EffectState.ACCEPTED))
        assert refund_of(world.ledger).state is EffectState.ACCEPTED
        world.run(world.clock.now_ms() + HOUR_MS)

    finish(world)
    assert refund_of(world.ledger).state is EffectState.CONFIRMED
    assert len(posts(world)) == 1
