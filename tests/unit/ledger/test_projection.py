"""One projection, three readers: never at odds. What each is shown is pinned as golden views."""

from collections.abc import Callable

import pytest

from ledger.effect import Effect
from ledger.idempotency import effect_id_for
from ledger.transitions import EffectState, RunState
from tests.unit.ledger.desk import facts_of, packet, told
from tests.unit.ledger.sample import APPROVAL_LIFETIME_SECONDS, BOUND, REFUND_ID, RUN_ID, a_refund
from tests.unit.ledger.situations import (
    SITUATIONS,
    awaiting_approval,
    closed_in_doubt,
    completed,
    declined,
    fresh_approval_declined,
    fresh_approval_granted,
    fresh_approval_pending,
    mail_in_doubt,
    mail_superseded,
    refund_confirmed,
    refund_contradicted,
    refund_overdue,
    refund_rejected,
    refund_unknown,
    second_refund_confirmed,
)
from tests.unit.ledger.support import World, an_approved_world, given

APPROVED = "You approved exactly what was shown."


def test_the_situations_show_every_state_there_is() -> None:
    shown = [facts_of(make()) for make in SITUATIONS.values()]

    assert {facts.state for facts in shown} == set(RunState)
    for operation in ("refund", "receipt"):
        states = {e.state for facts in shown for e in facts.effects if e.operation == operation}
        missing = set(EffectState) - states
        # A mail that was accepted is confirmed by that.
        assert missing <= {EffectState.PLANNED, EffectState.ACCEPTED}
        assert not (operation == "refund" and missing)


@pytest.mark.parametrize("name", SITUATIONS)
def test_the_three_readers_agree(name: str) -> None:
    world = SITUATIONS[name]()
    facts, status, told_model = facts_of(world), told(world), packet(world)

    assert status.run_id == facts.run_id == told_model.run_id
    assert status.status == facts.state == told_model.state
    assert told_model.view_version == facts.view_version == world.run().sequence
    assert told_model.last_verified_checkpoint == facts.last_verified_checkpoint
    assert status.proven == facts.claims
    assert len(status.proven) <= len(facts.proven)
    sentences = told_model.summary.removesuffix(".").split("; ")
    assert len(sentences) >= len(facts.counting_effects) + len(facts.not_begun)
    for effect, shown, fact in zip(
        facts.counting_effects, status.effects, told_model.effects, strict=True
    ):
        confirmed = effect.state is EffectState.CONFIRMED and not effect.attested
        assert effect.operation == shown.operation == fact.operation
        assert effect.state == fact.state
        assert (shown.status == "confirmed") == confirmed
        assert shown.record_id == (effect.record_id if confirmed else None)
        assert shown.fields == effect.proven_fields
        assert not confirmed or shown.fields == fact.fields
        named = [s for s in sentences if confirmed and f" {effect.record_id} " in f"{s} "]
        assert all("is confirmed" in sentence for sentence in named)
        assert bool(named) == confirmed


@pytest.mark.parametrize("name", SITUATIONS)
def test_nothing_unproven_is_told_as_proven(name: str) -> None:
    facts = facts_of(SITUATIONS[name]())

    unproven = [effect for effect in facts.effects if effect.state is not EffectState.CONFIRMED]
    assert all(effect.proven_fields == {} for effect in unproven)
    if facts.state is RunState.COMPLETED:
        assert facts.last_verified_checkpoint == "receipt_sent"


def test_a_yes_is_not_told_as_given_while_another_is_asked_for_nor_after_a_no() -> None:
    pending, declined_anew = fresh_approval_pending(), fresh_approval_declined()

    for world in (pending, declined_anew):
        assert APPROVED not in told(world).proven
        assert facts_of(world).claims == told(world).proven == ()
    assert told(pending).status is RunState.AWAITING_APPROVAL
    assert told(declined_anew).status is RunState.REVIEW


@pytest.mark.parametrize(
    "make", [refund_confirmed, refund_rejected, fresh_approval_granted, second_refund_confirmed]
)
def test_a_yes_is_told_as_given_as_long_as_it_is_the_newest_word(
    make: Callable[[], World],
) -> None:
    assert APPROVED in told(make()).proven


def test_a_run_goes_on_from_the_last_checkpoint_before_a_gap() -> None:
    assert facts_of(refund_confirmed()).last_verified_checkpoint == "refund_confirmed"
    world = completed()
    refund = world.effect().model_copy(update={"state": EffectState.CONTRADICTED})
    given(world, refund, state=RunState.REVIEW)

    facts = facts_of(world)

    assert facts.proven == ("request_approved", "receipt_sent")
    assert facts.last_verified_checkpoint == "request_approved"


def test_before_the_first_checkpoint_there_is_none() -> None:
    assert facts_of(awaiting_approval()).last_verified_checkpoint is None


def test_instances_of_an_operation_are_told_in_their_order() -> None:
    world = an_approved_world()
    ids = [effect_id_for(RUN_ID, "refund", number) for number in (1, 2, 3, 4)]
    assert ids != sorted(ids)  # the order in which a store returns them is another
    given(world, *(_refused(number) for number in (3, 1, 4, 2)))

    facts = facts_of(world)

    assert [effect.instance for effect in facts.effects] == [1, 2, 3, 4]
    assert [effect.effect_id for effect in facts.effects] == ids


@pytest.mark.parametrize(
    ("make", "over"),
    [
        (refund_rejected, [False]),
        (fresh_approval_pending, [False]),
        (fresh_approval_granted, [True]),
        (second_refund_confirmed, [True, False]),
        (mail_superseded, [False, True]),
        (mail_in_doubt, [False, False]),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_an_effect_is_over_once_another_counts_in_its_place(
    make: Callable[[], World], over: list[bool]
) -> None:
    facts = facts_of(make())

    assert [effect.over for effect in facts.effects] == over
    labels = {effect.label for effect in facts.counting_effects} | set(facts.not_begun)
    assert labels == {"Refund", "Receipt email"}


def test_an_older_instance_that_is_in_question_again_still_counts() -> None:
    world = second_refund_confirmed()
    given(world, world.effect().model_copy(update={"state": EffectState.UNKNOWN}))

    assert [effect.over for effect in facts_of(world).effects] == [False, False]


def test_in_a_closed_run_nothing_is_told_as_being_looked_up_or_still_to_come() -> None:
    doubt, none = closed_in_doubt(), declined()

    assert told(doubt).effects[0].status == "not proven"
    assert packet(doubt).summary == (
        "Refund for USD 79.00 has an outcome that was never proven; do not repeat it; "
        "receipt email was not made."
    )
    assert packet(none).summary == "Refund was not made; receipt email was not made."


def _refused(number: int) -> Effect:
    return a_refund(
        EffectState.REJECTED,
        effect_id=effect_id_for(RUN_ID, "refund", number),
        instance=number,
        approval_id="apr_1",
    )


def test_a_request_for_a_decision_is_shown_as_expired_from_its_last_moment_on() -> None:
    world = awaiting_approval()
    world.pass_seconds(APPROVAL_LIFETIME_SECONDS)
    world.clock.at_ms -= 1
    before = facts_of(world).approval
    world.clock.pass_ms(1)
    after = facts_of(world).approval

    assert before is not None
    assert after is not None
    assert (before.expired, after.expired) == (False, True)


def test_what_protects_an_effect_and_until_when_is_shown() -> None:
    world = refund_unknown()

    (effect, *_) = facts_of(world).effects

    stored = world.effect()
    assert effect.idempotency_key == stored.idempotency_key
    assert effect.key_first_used_at_ms == stored.key_first_used_at_ms is not None
    assert effect.key_protects_until_ms == stored.key_protects_until_ms is not None
    assert effect.overdue_at_ms == stored.overdue_at_ms() is not None
    assert effect.bound == BOUND
    assert effect.last_fault == "no_answer status=None code=None"


def test_why_a_person_looks_is_shown_while_they_do() -> None:
    world = refund_overdue()
    assert "past its deadline" in facts_of(world).review_reason
    world.reconcile()

    facts = facts_of(world)

    assert facts.state is RunState.ACTIVE
    assert facts.review_reason == ""


def test_what_may_be_ours_is_shown_to_the_person_who_looks() -> None:
    facts = facts_of(refund_contradicted())

    (refund, *_) = facts.effects
    assert refund.effect_id == REFUND_ID
    assert [found.provider_status for found in refund.candidates] == ["failed"]
