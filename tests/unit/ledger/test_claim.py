"""The claim: one worker, one key, one attempt at a time, and never without end."""

import pytest

from ledger.effect import Effect
from ledger.errors import (
    ApprovalNeeded,
    EffectInProgress,
    EffectUnknown,
    LedgerMoved,
    LedgerUnavailable,
    ProviderUnavailable,
    ReviewRequired,
    StaleExecution,
)
from ledger.event import EventKind
from ledger.transitions import EffectState, RunState
from tests.unit.ledger.support import (
    APPROVAL_LIFETIME_SECONDS,
    BOUND,
    CALL_TIMEOUT_SECONDS,
    KEY_LIFETIME_SECONDS,
    KEY_MARGIN_SECONDS,
    MAX_ATTEMPTS,
    NEVER_SENT,
    NO_ANSWER,
    TASK,
    Step,
    World,
    a_refund,
    a_world,
    an_approved_world,
    given,
)

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


def test_the_intent_is_on_record_before_anything_is_sent() -> None:
    world = an_approved_world()
    seen: list[Effect] = []
    world.payments.during_call = lambda: seen.append(world.effect())

    world.perform()

    (during,) = seen
    assert during.state is EffectState.ATTEMPTING
    assert during.request.params()["fields"] == BOUND
    assert during.idempotency_key == world.payments.calls[0].idempotency_key
    assert during.key_first_used_at_ms == world.clock.now_ms()
    assert during.approval_id is not None
    assert during.last_attempt is not None
    assert during.last_attempt.epoch == TASK.epoch


def test_a_claim_that_cannot_be_written_sends_nothing() -> None:
    world = an_approved_world()

    world.store.failure = LedgerUnavailable("no answer")

    with pytest.raises(LedgerUnavailable):
        world.perform()

    assert world.payments.calls == []


def test_two_workers_begin_together_and_one_of_them_sends() -> None:
    world = an_approved_world()

    def rival() -> None:
        world.store.rivals = []
        world.perform()

    world.store.rivals = [rival]
    effect = world.perform()

    assert effect.state is EffectState.CONFIRMED
    assert len(world.payments.calls) == 1
    assert world.ledger.run.state is RunState.ACTIVE


def test_a_worker_that_finds_another_in_mid_call_steps_back() -> None:
    world = an_approved_world()
    refusals: list[str] = []

    def second_worker() -> None:
        with pytest.raises(EffectInProgress):
            world.perform()
        refusals.append("in progress")

    world.payments.during_call = second_worker

    world.perform()

    assert refusals == ["in progress"]
    assert len(world.payments.calls) == 1


def test_an_approval_that_ran_out_while_the_authority_was_read_sends_nothing() -> None:
    world = an_approved_world()
    world.clock.pass_ms(APPROVAL_LIFETIME_SECONDS * 1000 - 1)

    def rival() -> None:
        world.clock.pass_ms(1)
        given(world)

    world.store.rivals = [rival]
    with pytest.raises(ApprovalNeeded, match="expired"):
        world.perform()

    assert world.payments.calls == []


def test_an_execution_replaced_between_check_and_claim_sends_nothing() -> None:
    world = an_approved_world()
    world.store.rivals = [lambda: given(world, epoch=2)]

    with pytest.raises(StaleExecution):
        world.perform()

    assert world.payments.calls == []


def test_a_writer_that_is_always_faster_leaves_the_stage_repeatable() -> None:
    world = an_approved_world()

    world.store.failure = LedgerMoved("somebody was faster")

    with pytest.raises(LedgerMoved, match="try again"):
        world.perform()

    assert world.payments.calls == []
    world.store.failure = None
    assert world.perform().state is EffectState.CONFIRMED


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


def test_attempts_that_never_arrive_end_in_review_not_in_a_loop() -> None:
    world = an_approved_world()
    world.payments.script = [Step(None, NEVER_SENT)] * 10
    for _ in range(MAX_ATTEMPTS):
        with pytest.raises(ProviderUnavailable):
            world.perform()

    with pytest.raises(ReviewRequired, match=f"{MAX_ATTEMPTS} attempts were made"):
        world.perform()

    assert len(world.payments.calls) == MAX_ATTEMPTS
    assert world.ledger.run.state is RunState.REVIEW
    assert f"{MAX_ATTEMPTS} attempts made" in world.ledger.run.review_reason
    assert world.resume() == "Review"


def test_a_write_whose_groundwork_is_not_proven_sends_nothing_and_asks_a_person() -> None:
    world = a_world()
    world.ask()
    world.decide()
    operation = world.definition.operation("refund").model_copy(
        update={"requires": ("request_approved", "account_closed")}
    )
    receipt = world.definition.operation("receipt")
    world.definition = world.definition.model_copy(update={"operations": (operation, receipt)})

    with pytest.raises(ReviewRequired, match="account_closed"):
        world.perform()

    assert world.payments.calls == []
    assert world.ledger.run.state is RunState.REVIEW


def test_a_planned_effect_on_record_is_claimed_and_not_planned_twice() -> None:
    world = an_approved_world()
    given(world, a_refund())

    world.perform()

    assert EventKind.EFFECT_PLANNED not in world.kinds
    assert world.kinds.count(EventKind.EFFECT_CLAIMED) == 1


def test_a_new_effect_leaves_its_plan_and_its_claim_in_the_trail() -> None:
    world = an_approved_world()

    world.perform()

    planned = world.kinds.index(EventKind.EFFECT_PLANNED)
    assert world.kinds[planned : planned + 2] == [
        EventKind.EFFECT_PLANNED,
        EventKind.EFFECT_CLAIMED,
    ]

