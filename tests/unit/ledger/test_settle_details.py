"""What settling an effect sets back, and what it writes beside the state."""

from ledger.answer import keep_late_result
from ledger.attempt import AttemptOutcome
from ledger.draft import Draft
from ledger.effect import Effect
from ledger.event import EventKind
from ledger.idempotency import effect_id_for
from ledger.provider import RecordStatus
from ledger.settle import settle_confirmed
from ledger.transitions import EffectState, RunState
from tests.builders import an_attempt, evidence
from tests.unit.ledger.notices import heard
from tests.unit.ledger.sample import (
    LEASE_SECONDS,
    NO_ANSWER,
    RECOVERY_DEADLINE_SECONDS,
    RUN_ID,
    a_record,
    a_refund,
)
from tests.unit.ledger.situations import mail_attested
from tests.unit.ledger.support import World, a_world, an_approved_world, an_unknown_world, given


def confirmed(number: int, record_id: str, **overrides: object) -> Effect:
    """Return one instance of the refund, which an approval allowed."""
    return a_refund(
        EffectState.CONFIRMED,
        instance=number,
        effect_id=effect_id_for(RUN_ID, "refund", number),
        approval_id=f"apr_{number}",
        evidence=evidence(record_id=record_id),
        **overrides,
    )


def settle(world: World, effect: Effect, record_id: str) -> None:
    """Confirm an effect by a record of it, as a read would."""

    def decide(draft: Draft) -> None:
        settle_confirmed(draft, effect, a_record(record_id=record_id), "read")

    world.change(decide)


def test_given_an_absence_that_was_proven_when_its_record_comes_late_then_the_search_is_anew() -> (
    None
):
    world = an_unknown_world()
    world.prove_absence()
    refund = world.effect()
    assert len(refund.absence_reads_at_ms) == 2

    world.change(lambda draft: keep_late_result(draft, refund, refund.attempts[0], a_record()))

    assert world.effect().state is EffectState.UNKNOWN
    assert world.effect().absence_reads_at_ms == ()


def test_given_a_lost_answer_when_its_unfinished_record_is_found_then_its_attempt_says_so() -> None:
    world = an_unknown_world(made=RecordStatus.PENDING)

    world.reconcile()

    assert world.effect().state is EffectState.ACCEPTED
    assert [found.outcome for found in world.effect().attempts] == [AttemptOutcome.FOUND]


def test_given_an_overdue_refund_when_its_unfinished_record_is_found_then_the_trail_says_so() -> (
    None
):
    world = an_unknown_world(made=RecordStatus.PENDING)
    world.payments.read_fault = NO_ANSWER
    world.pass_seconds(RECOVERY_DEADLINE_SECONDS)
    world.reconcile()
    assert world.run().state is RunState.REVIEW
    world.payments.read_fault = None

    world.reconcile()

    (ended,) = [event for event in world.events if event.kind == EventKind.REVIEW_ENDED]
    assert ended.reason == "what was overdue is settled: the provider says pending"
    assert world.run().review_recovers is False


def test_given_reads_before_when_confirmed_then_those_that_follow_are_counted_from_none() -> None:
    world = an_approved_world()
    given(world, a_refund(EffectState.UNKNOWN, reconcile_reads=3, rechecks_made=1))

    settle(world, world.effect(), "re_1")

    assert (world.effect().reconcile_reads, world.effect().rechecks_made) == (0, 0)


def test_given_two_that_are_there_already_when_a_third_is_found_then_the_newest_is_named() -> None:
    world = an_approved_world()
    third = confirmed(3, "re_3").model_copy(
        update={"state": EffectState.UNKNOWN, "attempts": (an_attempt(),)}
    )
    given(world, confirmed(1, "re_1"), confirmed(2, "re_2"), third)

    settle(world, third, "re_9")

    assert world.run().review_reason == "refund was made twice: re_9 beside re_2"
    proof = world.ledger.proven("refund_confirmed")
    assert proof is not None
    assert proof.evidence.record_id == "re_9"


def test_given_an_operators_word_when_proof_comes_then_its_event_names_the_record() -> None:
    world = mail_attested()

    heard(world)

    proof = next(event for event in world.events if "is now proven" in event.reason)
    assert proof.details == {"record_id": "post_1"}
    assert (proof.prior_state, proof.state) == (EffectState.CONFIRMED, EffectState.CONFIRMED)


def test_given_a_wait_for_a_yes_when_the_write_is_found_done_then_an_execution_has_to_wake() -> (
    None
):
    world = a_world()
    world.ask()
    given(world, a_refund(EffectState.UNKNOWN), execution_started=True)
    assert world.run().state is RunState.AWAITING_APPROVAL
    world.payments.held.append(a_record())
    world.pass_seconds(LEASE_SECONDS)

    world.reconcile()

    assert world.kinds[-1] is EventKind.APPROVAL_WAIT_ENDED
    assert world.run().state is RunState.ACTIVE
    assert world.run().execution_started is False
