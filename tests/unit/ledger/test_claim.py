"""The claim: one worker, one key, one attempt at a time, and never without end."""

import pytest

from ledger.claim import MAX_UNREACHED_ATTEMPTS
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
from ledger.pace import FIRST_PAUSE_SECONDS, MAX_PAUSE_SECONDS
from ledger.provider import RecordStatus
from ledger.transitions import EffectState, RunState
from tests.unit.ledger.sample import (
    APPROVAL_LIFETIME_SECONDS,
    BOUND,
    CALL_TIMEOUT_SECONDS,
    LEASE_SECONDS,
    MAX_ATTEMPTS,
    NEVER_SENT,
    NO_ANSWER,
    TASK,
    a_refund,
)
from tests.unit.ledger.scripted_provider import Step
from tests.unit.ledger.support import a_world, an_approved_world, given


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
    assert world.run().state is RunState.ACTIVE


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


def test_a_worker_that_is_claimed_ahead_of_steps_back() -> None:
    world = an_approved_world()
    world.store.rivals = [lambda: given(world, a_refund(EffectState.ATTEMPTING))]

    with pytest.raises(EffectInProgress):
        world.perform()

    assert world.payments.calls == []
    assert world.run().state is RunState.ACTIVE


def test_a_worker_ahead_of_whom_an_answer_was_lost_reconciles_first() -> None:
    world = an_approved_world()

    def rival() -> None:
        world.payments.script = [Step(RecordStatus.DONE, NO_ANSWER)]
        with pytest.raises(EffectUnknown):
            world.perform()

    world.store.rivals = [rival]
    with pytest.raises(EffectUnknown):
        world.perform()

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


def test_requests_that_never_arrive_end_in_review_not_in_a_loop() -> None:
    world = an_approved_world()
    world.payments.script = [Step(None, NEVER_SENT)] * (MAX_UNREACHED_ATTEMPTS + 1)
    began_ms = world.clock.now_ms()
    for attempt in range(1, MAX_UNREACHED_ATTEMPTS + 1):
        with pytest.raises(ProviderUnavailable):
            world.perform()
        world.pass_seconds(min(FIRST_PAUSE_SECONDS << attempt, MAX_PAUSE_SECONDS))

    # Not a matter of minutes: an outage of hours is outlasted.
    assert world.clock.now_ms() - began_ms > 8 * 3600 * 1000
    with pytest.raises(ReviewRequired, match="never reached the provider"):
        world.perform()

    assert len(world.payments.calls) == MAX_UNREACHED_ATTEMPTS
    assert world.run().state is RunState.REVIEW
    assert world.resume() == "Review"


def test_attempts_that_were_sent_and_proven_absent_end_in_review_not_in_a_loop() -> None:
    world = an_approved_world()
    world.payments.script = [Step(None, NO_ANSWER)] * (MAX_ATTEMPTS + 1)
    for _ in range(MAX_ATTEMPTS):
        with pytest.raises(EffectUnknown):
            world.perform()
        world.prove_absence()

    with pytest.raises(ReviewRequired, match=f"{MAX_ATTEMPTS} attempts were made"):
        world.perform()

    assert len(world.payments.calls) == MAX_ATTEMPTS
    assert world.run().state is RunState.REVIEW


def test_a_short_outage_of_the_network_uses_up_none_of_the_attempts_that_count() -> None:
    world = an_approved_world()
    world.payments.script = [Step(None, NEVER_SENT)] * MAX_ATTEMPTS
    for attempt in range(1, MAX_ATTEMPTS + 1):
        with pytest.raises(ProviderUnavailable):
            world.perform()
        world.pass_seconds(FIRST_PAUSE_SECONDS << attempt)

    assert world.perform().state is EffectState.CONFIRMED


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
    assert world.run().state is RunState.REVIEW


def test_a_claim_that_took_so_long_that_it_could_lapse_in_mid_call_sends_nothing() -> None:
    world = an_approved_world()
    too_long_ms = (LEASE_SECONDS - CALL_TIMEOUT_SECONDS) * 1000 + 1
    world.store.rivals = [lambda: world.clock.pass_ms(too_long_ms)]

    with pytest.raises(ProviderUnavailable):
        world.perform()

    assert world.payments.calls == []
    assert world.effect().state is EffectState.PLANNED
    assert world.perform().state is EffectState.CONFIRMED


def test_a_claim_that_leaves_the_call_its_full_timeout_is_used() -> None:
    world = an_approved_world()
    long_ms = (LEASE_SECONDS - CALL_TIMEOUT_SECONDS) * 1000
    world.store.rivals = [lambda: world.clock.pass_ms(long_ms)]

    assert world.perform().state is EffectState.CONFIRMED


def test_a_yes_is_not_spent_on_a_write_that_it_did_not_name() -> None:
    world = an_approved_world()
    refund = world.perform()

    receipt = world.perform("receipt")

    approval = world.ledger.newest_approval()
    assert approval is not None
    assert approval.spent_on == {"refund": refund.effect_id}
    assert receipt.approval_id is None


def test_a_write_that_needs_no_yes_is_made_though_nobody_was_ever_asked() -> None:
    world = a_world()
    refund, receipt = world.definition.operations
    free = refund.model_copy(update={"needs_approval": False, "requires": ()})
    world.definition = world.definition.model_copy(update={"operations": (free, receipt)})

    effect = world.perform()

    assert effect.state is EffectState.CONFIRMED
    assert effect.approval_id is None


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
