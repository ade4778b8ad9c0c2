"""The life of a key: reused while the provider remembers it, and never trusted afterwards."""

import pytest

from ledger.contract import KEY_NOTICE_SECONDS
from ledger.due import MIN_LOOK_INTERVAL_SECONDS
from ledger.effect import Effect
from ledger.errors import (
    ApprovalNeeded,
    EffectPending,
    EffectUnknown,
    ProviderUnavailable,
)
from ledger.event import Event, EventKind
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
    assert "is unknown and its key is about to lapse" in world.run().review_reason
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


def an_overdue_world() -> World:
    """Return a world whose refund is unknown past its deadline, in review, and cannot be read."""
    world = an_approved_world()
    world.payments.script = [Step(None, NO_ANSWER)]
    with pytest.raises(EffectUnknown):
        world.perform()
    world.payments.read_fault = NO_ANSWER
    world.pass_seconds(RECOVERY_DEADLINE_SECONDS)
    world.reconcile()
    assert world.effect().overdue
    assert world.run().state is RunState.REVIEW
    return world


def key_notices(world: World) -> list[Event]:
    """Return what was told of a key that ends."""
    return [event for event in world.events if event.kind is EventKind.KEY_LAPSING]


def notice_ms(world: World) -> int:
    """Return when somebody has to be told of the key's end."""
    at_ms = world.effect().key_notice_at_ms()
    assert at_ms is not None
    return at_ms


def sweep_until(world: World, until_ms: int) -> None:
    """Let the sweeper look whenever the run is due, up to a moment."""
    while (due_at_ms := world.run().due_at_ms) is not None and due_at_ms <= until_ms:
        world.clock.move_to(due_at_ms)
        world.sweep()
    world.clock.move_to(until_ms)


@pytest.mark.parametrize("by_itself", [True, False], ids=["review that recovers", "review"])
def test_an_overdue_effect_whose_key_is_about_to_lapse_is_told_once_more_in_time(
    by_itself: bool,
) -> None:
    world = an_overdue_world()
    if not by_itself:
        world.change(lambda draft: draft.send_to_review("a person asked"))
    first, lapses_ms = world.run().review_reason, world.effect().key_protects_until_ms
    assert lapses_ms is not None

    sweep_until(world, lapses_ms - 1)

    (told,) = key_notices(world)
    assert notice_ms(world) <= told.at_ms < notice_ms(world) + 60_000
    assert (told.subject, told.state) == (world.effect().effect_id, EffectState.UNKNOWN)
    assert world.run().state is RunState.REVIEW
    assert world.run().review_reason == first
    assert "refund is unknown and its key is about to lapse" in world.run().review_also[-1]
    assert world.run().review_recovers is by_itself
    assert world.kinds.count(EventKind.EFFECT_OVERDUE) == 1
    sweep_until(world, lapses_ms + 3 * KEY_LIFETIME_SECONDS * 1000)
    assert key_notices(world) == [told]


def test_before_its_notice_nothing_is_told_of_a_key() -> None:
    world = an_overdue_world()
    world.clock.move_to(notice_ms(world) - 1)
    world.reconcile()
    assert key_notices(world) == []
    world.clock.move_to(notice_ms(world))

    world.reconcile()

    assert len(key_notices(world)) == 1


def test_a_sweeper_that_died_on_its_way_to_tell_is_followed_by_another_at_once() -> None:
    world = an_overdue_world()
    world.change(lambda draft: draft.send_to_review("a person asked"))
    world.clock.move_to(notice_ms(world))

    world.change(lambda draft: draft.note(EventKind.SWEEP_CLAIMED, "due"))

    due_at_ms = world.run().due_at_ms
    assert due_at_ms == notice_ms(world) + MIN_LOOK_INTERVAL_SECONDS * 1000


def test_a_key_that_nobody_could_tell_of_in_time_is_told_as_lapsed() -> None:
    world = an_overdue_world()
    world.clock.move_to(notice_ms(world) + KEY_NOTICE_SECONDS * 1000)

    world.reconcile()

    (told,) = key_notices(world)
    assert told.reason == "unknown and its key has lapsed"


def test_each_key_of_an_effect_has_its_own_notice() -> None:
    world = an_approved_world()
    lose_one_attempt(world)
    world.clock.move_to(notice_ms(world))
    world.payments.script = [Step(None, NO_ANSWER), Step(None, NO_ANSWER)]
    with pytest.raises(EffectUnknown):
        world.perform()
    world.prove_absence()
    world.clock.move_to(notice_ms(world) + KEY_NOTICE_SECONDS * 1000)
    with pytest.raises(EffectUnknown):
        world.perform()
    assert world.effect().generation == 2
    world.payments.read_fault = NO_ANSWER
    world.pass_seconds(LEASE_SECONDS)
    world.reconcile()
    assert len(key_notices(world)) == 1
    world.clock.move_to(notice_ms(world))

    for _ in range(2):
        world.reconcile()

    assert len(key_notices(world)) == 2


def test_an_effect_that_was_stored_before_notices_were_counted_gets_its_own() -> None:
    world = an_overdue_world()
    stored = world.effect().model_dump(exclude={"key_notice_generation"})

    effect = Effect.model_validate(stored)

    assert effect.key_notice_owed_at_ms() == notice_ms(world)


def test_an_accepted_record_needs_no_key_and_is_given_its_own_longer_time() -> None:
    world = an_approved_world()
    world.payments.script = [Step(RecordStatus.PENDING)]
    with pytest.raises(EffectPending):
        world.perform()
    world.pass_seconds(KEY_LIFETIME_SECONDS + 1)

    world.reconcile()

    assert world.run().state is RunState.ACTIVE
    assert EventKind.KEY_LAPSING not in world.kinds
