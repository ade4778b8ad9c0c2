"""The life of a key: reused while the provider remembers it, and never trusted afterwards."""

import pytest

from ledger.contract import KEY_NOTICE_SECONDS
from ledger.effect import Effect
from ledger.errors import (
    ApprovalNeeded,
    EffectPending,
    EffectUnknown,
    ProviderUnavailable,
)
from ledger.event import EventKind
from ledger.provider import RecordStatus
from ledger.transitions import EffectState, RunState
from tests.unit.ledger.sample import (
    CALL_TIMEOUT_SECONDS,
    KEY_LIFETIME_SECONDS,
    KEY_MARGIN_SECONDS,
    LEASE_SECONDS,
    NEVER_SENT,
    NO_ANSWER,
    RECOVERY_DEADLINE_SECONDS,
)
from tests.unit.ledger.scripted_provider import Step
from tests.unit.ledger.support import World, an_approved_world

PROTECTED_MS = (KEY_LIFETIME_SECONDS - KEY_MARGIN_SECONDS) * 1000


def lose_one_attempt(world: World) -> Effect:
    """Let an attempt end without the provider having seen it, and prove that."""
    world.payments.script = [Step(None, NO_ANSWER)]
    with pytest.raises(EffectUnknown):
        world.perform()
    world.prove_absence()
    assert world.effect().state is EffectState.PLANNED
    return world.effect()


def renew_approval(world: World, ordinal: int) -> None:
    """Ask again and let the customer say yes again."""
    world.ask(f"token-{ordinal}")
    world.decide(ordinal=ordinal)


def test_a_further_attempt_within_the_keys_lifetime_uses_the_same_key() -> None:
    world = an_approved_world()
    first_use_ms = world.clock.now_ms()
    lose_one_attempt(world)
    world.clock.move_to(first_use_ms + PROTECTED_MS - CALL_TIMEOUT_SECONDS * 1000 - 1)

    effect = world.perform()

    first, second = world.payments.calls
    assert first.idempotency_key == second.idempotency_key
    assert effect.generation == 1
    assert effect.key_first_used_at_ms == first_use_ms
    assert [attempt.number for attempt in effect.attempts] == [1, 2]


def test_a_call_that_could_outlive_the_key_is_made_under_a_new_generation() -> None:
    world = an_approved_world()
    first_use_ms = world.clock.now_ms()
    lose_one_attempt(world)
    world.clock.move_to(first_use_ms + PROTECTED_MS - CALL_TIMEOUT_SECONDS * 1000)

    effect = world.perform()

    first, second = world.payments.calls
    assert first.idempotency_key != second.idempotency_key
    assert first.params == second.params
    assert effect.generation == 2
    assert effect.key_first_used_at_ms == world.clock.now_ms()
    assert [attempt.generation for attempt in effect.attempts] == [1, 2]


def test_past_the_keys_lifetime_the_first_approval_is_not_enough() -> None:
    world = an_approved_world()
    lose_one_attempt(world)
    world.pass_seconds(49 * 3600)

    with pytest.raises(ApprovalNeeded, match="expired"):
        world.perform()
    renew_approval(world, 2)
    effect = world.perform()

    assert effect.generation == 2
    assert len(world.payments.calls) == 2


def test_a_request_that_never_left_keeps_the_time_of_the_keys_first_use() -> None:
    world = an_approved_world()
    first_use_ms = world.clock.now_ms()
    world.payments.script = [Step(None, NEVER_SENT)]
    with pytest.raises(ProviderUnavailable):
        world.perform()
    world.pass_seconds(60)

    effect = world.perform()

    assert effect.key_first_used_at_ms == first_use_ms
    assert effect.generation == 1


def test_a_provider_that_knows_no_keys_is_given_the_one_key_for_ever() -> None:
    world = an_approved_world()
    world.perform()
    world.post.script = [Step(None, NEVER_SENT)]
    with pytest.raises(ProviderUnavailable):
        world.perform("receipt")
    world.pass_seconds(49 * 3600)

    receipt = world.perform("receipt")

    assert receipt.generation == 1
    assert receipt.key_first_used_at_ms is None
    assert world.post.calls[0].idempotency_key == world.post.calls[1].idempotency_key


def test_an_unknown_effect_is_brought_before_a_person_while_its_key_still_protects() -> None:
    world = an_approved_world()
    first_use_ms = world.clock.now_ms()
    lose_one_attempt(world)
    notice_ms = first_use_ms + PROTECTED_MS - KEY_NOTICE_SECONDS * 1000
    world.clock.move_to(notice_ms - (LEASE_SECONDS + 5) * 1000)
    world.payments.script = [Step(None, NO_ANSWER)]
    with pytest.raises(EffectUnknown):
        world.perform()
    world.pass_seconds(LEASE_SECONDS)
    world.reconcile()
    assert world.run().state is RunState.ACTIVE
    assert world.effect().overdue_at_ms() == notice_ms

    world.clock.move_to(notice_ms)
    world.payments.every_page = False
    world.reconcile()

    assert world.clock.now_ms() < first_use_ms + PROTECTED_MS
    assert EventKind.KEY_LAPSING in world.kinds
    assert EventKind.EFFECT_OVERDUE not in world.kinds
    assert world.run().state is RunState.REVIEW
    assert "its key is about to lapse or has lapsed" in world.run().review_reason
    assert world.effect().state is EffectState.UNKNOWN


def test_an_effect_past_its_deadline_with_a_living_key_is_told_as_overdue() -> None:
    world = an_approved_world()
    world.payments.script = [Step(None, NO_ANSWER)]
    with pytest.raises(EffectUnknown):
        world.perform()
    world.pass_seconds(RECOVERY_DEADLINE_SECONDS)
    world.payments.every_page = False

    world.reconcile()

    assert EventKind.EFFECT_OVERDUE in world.kinds
    assert EventKind.KEY_LAPSING not in world.kinds


def test_an_accepted_record_needs_no_key_and_is_given_its_own_longer_time() -> None:
    world = an_approved_world()
    world.payments.script = [Step(RecordStatus.PENDING)]
    with pytest.raises(EffectPending):
        world.perform()
    world.pass_seconds(KEY_LIFETIME_SECONDS + 1)

    world.reconcile()

    assert world.run().state is RunState.ACTIVE
    assert EventKind.KEY_LAPSING not in world.kinds
