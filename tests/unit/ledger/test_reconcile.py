"""Finding out from the provider: what a record shows, and what no answer shows."""

import pytest

from ledger.attempt import AttemptOutcome
from ledger.due import FIRST_READ_WAIT_SECONDS
from ledger.errors import LedgerUnavailable
from ledger.event import EventKind
from ledger.provider import RecordStatus
from ledger.reconcile import MAX_WAIT_SECONDS, Outcome, Standing, reconcile_effect
from ledger.transitions import EffectState, RunState
from tests.builders import an_attempt
from tests.unit.ledger.sample import BOUND, NO_ANSWER, OF_ANOTHER_RUN, TASK, a_record, a_refund
from tests.unit.ledger.support import an_approved_world, an_unknown_world, given


def test_a_found_match_confirms_the_effect_and_its_checkpoint() -> None:
    world = an_unknown_world(made=RecordStatus.DONE)

    outcome = world.reconcile()

    effect = world.effect()
    assert outcome.standing is Standing.SETTLED
    assert effect.state is EffectState.CONFIRMED
    assert effect.attempts[0].outcome is AttemptOutcome.FOUND
    assert effect.unsettled_since_ms is None
    assert world.ledger.proven("refund_confirmed") is not None


def test_a_worker_that_died_in_mid_call_is_found_by_its_mark() -> None:
    world = an_approved_world()
    given(world, a_refund(EffectState.ATTEMPTING, attempts=(an_attempt(lease_until_ms=0),)))
    world.payments.held.append(a_record())

    world.reconcile()

    assert world.effect().state is EffectState.CONFIRMED
    assert world.kinds[-3:] == [
        EventKind.EFFECT_UNKNOWN,
        EventKind.EFFECT_CONFIRMED,
        EventKind.CHECKPOINT_REACHED,
    ]


def test_a_record_of_ours_counts_even_while_the_claim_lives() -> None:
    world = an_approved_world()
    given(world, a_refund(EffectState.ATTEMPTING))
    world.payments.held.append(a_record())

    world.reconcile()

    assert world.effect().state is EffectState.CONFIRMED


def test_a_found_pending_record_is_accepted_read_again_and_then_confirmed() -> None:
    world = an_unknown_world(made=RecordStatus.PENDING)

    outcome = world.reconcile()
    assert world.effect().state is EffectState.ACCEPTED
    assert outcome.standing is Standing.WAIT
    world.reconcile()
    assert world.effect().state is EffectState.ACCEPTED
    assert world.ledger.proven("refund_confirmed") is None
    world.payments.held[0] = world.payments.held[0].model_copy(update={"status": RecordStatus.DONE})
    world.reconcile()

    assert world.effect().state is EffectState.CONFIRMED


@pytest.mark.parametrize("before", [None, RecordStatus.PENDING], ids=["unknown", "accepted"])
def test_a_record_that_failed_is_rejected_by_the_providers_word_and_a_person_looks(
    before: RecordStatus | None,
) -> None:
    world = an_unknown_world(made=before or RecordStatus.PENDING)
    if before is RecordStatus.PENDING:
        world.reconcile()
    world.payments.held[0] = world.payments.held[0].model_copy(
        update={"status": RecordStatus.FAILED, "provider_status": "canceled"}
    )

    outcome = world.reconcile()

    assert outcome.standing is Standing.REVIEW
    assert world.effect().state is EffectState.REJECTED
    assert world.effect().evidence is not None
    assert "canceled" in world.run().review_reason


def test_a_record_with_our_mark_and_another_amount_is_a_conflict() -> None:
    world = an_unknown_world()
    world.payments.held.append(a_record(fields={**BOUND, "amount_minor": 79000}))

    assert world.reconcile().standing is Standing.REVIEW
    assert world.effect().state is EffectState.CONFLICT
    assert world.ledger.proven("refund_confirmed") is None


def test_two_records_with_our_mark_go_to_review_with_both() -> None:
    world = an_unknown_world()
    world.payments.held.extend([a_record(record_id="re_1"), a_record(record_id="re_2")])

    assert world.reconcile().standing is Standing.REVIEW
    assert [found.record_id for found in world.effect().candidates] == ["re_1", "re_2"]


def test_lookalikes_without_our_mark_go_to_review_with_all_of_them() -> None:
    world = an_unknown_world()
    world.payments.held.extend(
        [a_record(record_id="re_1", mark=None), a_record(record_id="re_2", mark=None)]
    )

    assert world.reconcile().standing is Standing.REVIEW
    effect = world.effect()
    assert effect.state is EffectState.CONFLICT
    assert [found.record_id for found in effect.candidates] == ["re_1", "re_2"]
    assert len(world.payments.calls) == 1


def test_a_lookalike_seen_while_the_claim_lives_waits_for_the_worker() -> None:
    world = an_approved_world()
    given(world, a_refund(EffectState.ATTEMPTING))
    world.payments.held.append(a_record(mark=None))

    world.reconcile()

    assert world.effect().state is EffectState.ATTEMPTING
    assert world.run().state is RunState.ACTIVE


def test_two_runs_equal_refunds_are_not_taken_for_each_others() -> None:
    world = an_unknown_world()
    world.payments.held.append(a_record(mark=OF_ANOTHER_RUN))

    world.reconcile()

    assert world.effect().state is EffectState.UNKNOWN


def test_an_unreadable_provider_leaves_the_effect_unknown_and_is_asked_ever_less_often() -> None:
    world = an_unknown_world()
    world.payments.read_fault = NO_ANSWER

    waits = [world.reconcile().wait_seconds for _ in range(12)]

    assert world.effect().state is EffectState.UNKNOWN
    for read, wait in enumerate(waits, start=1):
        assert 1 <= wait <= min(FIRST_READ_WAIT_SECONDS << read, MAX_WAIT_SECONDS)
    assert 10 * sum(waits[:6]) < sum(waits[6:])
    assert world.kinds.count(EventKind.RECONCILE_READ_FAILED) == len(waits)


def test_an_unreadable_provider_says_nothing_about_a_worker_in_mid_call() -> None:
    world = an_approved_world()
    given(world, a_refund(EffectState.ATTEMPTING))
    world.payments.read_fault = NO_ANSWER

    world.reconcile()

    assert world.effect().state is EffectState.ATTEMPTING
    assert world.effect().reconcile_reads == 0


def test_a_dead_worker_at_an_unreadable_provider_is_unknown() -> None:
    world = an_approved_world()
    given(world, a_refund(EffectState.ATTEMPTING, attempts=(an_attempt(lease_until_ms=0),)))
    world.payments.read_fault = NO_ANSWER

    world.reconcile()

    assert world.effect().state is EffectState.UNKNOWN
    assert world.effect().attempts[0].outcome is AttemptOutcome.UNKNOWN


def test_a_ledger_that_cannot_be_written_loses_nothing() -> None:
    world = an_unknown_world(made=RecordStatus.DONE)
    world.store.failure = LedgerUnavailable("no answer")
    with pytest.raises(LedgerUnavailable):
        world.reconcile()
    world.store.failure = None

    world.reconcile()

    assert world.effect().state is EffectState.CONFIRMED


def test_bytes_altered_in_the_ledger_do_not_stop_the_reading() -> None:
    world = an_unknown_world(made=RecordStatus.DONE)
    altered = world.effect().request.model_copy(update={"digest": "sha256:00"})
    given(world, world.effect().model_copy(update={"request": altered}))

    world.reconcile()

    assert world.effect().state is EffectState.CONFIRMED


def test_a_found_refund_ends_a_wait_for_a_yes_that_nothing_needs_any_more() -> None:
    world = an_unknown_world(made=RecordStatus.DONE)
    world.pass_seconds(24 * 3600)
    world.ask("token-2")
    assert world.run().state is RunState.AWAITING_APPROVAL

    world.reconcile()

    assert world.effect().state is EffectState.CONFIRMED
    assert world.run().state is RunState.ACTIVE
    assert world.resume() == "SendReceipt"


def test_a_found_refund_leaves_the_wait_for_what_else_was_asked() -> None:
    world = an_unknown_world(made=RecordStatus.DONE)
    world.pass_seconds(24 * 3600)
    pending = world.ask("token-2").pending_approval()
    assert pending is not None
    also = {**pending.payload, "cancel_renewal": {"subscription_id": "sub_1"}}
    given(world, pending.model_copy(update={"payload": also}))

    world.reconcile()

    assert world.effect().state is EffectState.CONFIRMED
    assert world.run().state is RunState.AWAITING_APPROVAL


def test_reconciling_a_run_that_owes_nothing_reads_nothing() -> None:
    world = an_approved_world()

    assert world.reconcile() == Outcome(standing=Standing.SETTLED)
    reconcile_effect(world.ports, TASK.run_id, "eff_never_planned", TASK.actor)
    assert world.payments.look_ups == 0
