"""Finding out from the provider: each row of what a read can show, and nothing sent by any."""

from collections.abc import Iterator

import pytest

from ledger.attempt import AttemptOutcome
from ledger.contract import Consistency, ProviderContract
from ledger.errors import EffectUnknown, LedgerUnavailable
from ledger.event import EventKind
from ledger.provider import RecordStatus
from ledger.reconcile import MAX_WAIT_SECONDS, Outcome, Standing, reconcile_effect
from ledger.transitions import EffectState, RunState
from tests.builders import an_attempt
from tests.unit.ledger.support import (
    BOUND,
    LEASE_SECONDS,
    NO_ANSWER,
    PAYMENTS,
    PENDING_DEADLINE_SECONDS,
    RECEIPT_ID,
    RECOVERY_DEADLINE_SECONDS,
    REFUND_ID,
    SETTLE_WINDOW_SECONDS,
    TASK,
    Step,
    World,
    a_record,
    a_refund,
    an_approved_world,
    given,
)


def an_unknown_world(
    contract: ProviderContract = PAYMENTS, made: RecordStatus | None = None
) -> World:
    """Return a world whose refund lost its answer and whose claim has lapsed."""
    world = an_approved_world()
    world.payments.contract = contract
    world.payments.script = [Step(made, NO_ANSWER)]
    with pytest.raises(EffectUnknown):
        world.perform()
    world.pass_seconds(LEASE_SECONDS)
    return world


@pytest.fixture(autouse=True)
def nothing_is_sent_by_reading(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Fail a test in which a reconcile made a call."""
    sent: list[int] = []
    reconcile = World.reconcile

    def watched(world: World) -> Outcome:
        before = len(world.payments.calls) + len(world.post.calls)
        outcome = reconcile(world)
        sent.append(len(world.payments.calls) + len(world.post.calls) - before)
        return outcome

    monkeypatch.setattr(World, "reconcile", watched)
    yield
    assert not any(sent)


# --- a record of ours


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
    world.payments.held[0] = world.payments.held[0].model_copy(
        update={"status": RecordStatus.DONE}
    )
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
    assert "canceled" in world.ledger.run.review_reason


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


# --- records that may be ours


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
    assert world.ledger.run.state is RunState.ACTIVE


def test_two_runs_equal_refunds_are_not_taken_for_each_others() -> None:
    world = an_unknown_world()
    world.payments.held.append(a_record(mark="eff_of_another_run"))

    world.reconcile()

    assert world.effect().state is EffectState.UNKNOWN


# --- no record


def test_absence_needs_two_reads_apart_by_the_settle_window() -> None:
    world = an_unknown_world()

    first = world.reconcile()
    assert first == Outcome(standing=Standing.WAIT, wait_seconds=SETTLE_WINDOW_SECONDS)
    world.clock.pass_ms(SETTLE_WINDOW_SECONDS * 1000 - 1)
    world.reconcile()
    assert world.effect().state is EffectState.UNKNOWN
    assert len(world.effect().absence_reads_at_ms) == 1
    world.clock.pass_ms(1)
    world.reconcile()

    effect = world.effect()
    assert effect.state is EffectState.PLANNED
    assert effect.attempts[0].outcome is AttemptOutcome.ABSENT
    assert effect.attempts[0].fault == "no_answer status=None code=None"
    assert effect.unsettled_since_ms is None


def test_a_read_while_the_claim_lives_proves_no_absence() -> None:
    world = an_approved_world()
    lease_ms = 30_000
    given(world, a_refund(EffectState.ATTEMPTING))
    world.clock.pass_ms(lease_ms - 1)

    outcome = world.reconcile()

    assert world.effect().state is EffectState.ATTEMPTING
    assert outcome == Outcome(standing=Standing.WAIT, wait_seconds=1)
    world.clock.pass_ms(1)
    world.reconcile()
    assert world.effect().state is EffectState.UNKNOWN
    assert len(world.effect().absence_reads_at_ms) == 1


def test_a_read_begun_while_the_claim_lived_proves_no_absence_though_it_ended_later() -> None:
    world = an_approved_world()
    given(world, a_refund(EffectState.ATTEMPTING))
    world.payments.during_look_up = lambda: world.pass_seconds(3600)

    world.reconcile()

    assert world.effect().absence_reads_at_ms == ()
    assert world.effect().state is EffectState.ATTEMPTING


def test_an_old_read_written_down_late_is_not_a_second_read() -> None:
    world = an_unknown_world()

    def frozen() -> None:
        world.payments.during_look_up = None
        world.pass_seconds(1)
        reconcile_effect(world.ports, TASK.run_id, REFUND_ID, TASK.actor)
        world.pass_seconds(SETTLE_WINDOW_SECONDS)

    world.payments.during_look_up = frozen
    world.reconcile()

    assert world.effect().state is EffectState.UNKNOWN
    assert len(world.effect().absence_reads_at_ms) == 1


def test_an_old_read_is_not_held_against_a_record_that_was_accepted_meanwhile() -> None:
    world = an_unknown_world()

    def found_meanwhile() -> None:
        world.payments.during_look_up = None
        world.payments.held.append(a_record(status=RecordStatus.PENDING))
        reconcile_effect(world.ports, TASK.run_id, REFUND_ID, TASK.actor)
        world.pass_seconds(3600)

    world.payments.during_look_up = found_meanwhile
    world.reconcile()

    assert world.effect().state is EffectState.ACCEPTED
    assert world.ledger.run.state is RunState.ACTIVE


def test_an_effect_settled_by_somebody_else_during_the_read_is_left_as_it_is() -> None:
    world = an_unknown_world(made=RecordStatus.DONE)

    def settled_meanwhile() -> None:
        world.payments.during_look_up = None
        reconcile_effect(world.ports, TASK.run_id, REFUND_ID, TASK.actor)

    world.payments.during_look_up = settled_meanwhile
    world.reconcile()

    assert world.effect().state is EffectState.CONFIRMED
    assert world.kinds.count(EventKind.EFFECT_CONFIRMED) == 1


def test_pages_that_could_not_be_read_prove_nothing_however_often() -> None:
    world = an_unknown_world()
    world.payments.every_page = False

    for _ in range(5):
        world.reconcile()
        world.pass_seconds(SETTLE_WINDOW_SECONDS)

    assert world.effect().state is EffectState.UNKNOWN
    assert world.effect().absence_reads_at_ms == ()
    assert world.effect().reconcile_reads == 5


def test_a_look_up_that_shows_writes_late_proves_nothing_however_often() -> None:
    eventual = PAYMENTS.model_copy(update={"look_up_consistency": Consistency.EVENTUAL})
    world = an_unknown_world(eventual)

    for _ in range(5):
        world.reconcile()
        world.pass_seconds(SETTLE_WINDOW_SECONDS)

    assert world.effect().state is EffectState.UNKNOWN


def test_absence_without_a_contract_that_allows_replay_is_a_persons_question() -> None:
    world = an_unknown_world(PAYMENTS.model_copy(update={"replay_after_absence": False}))
    world.reconcile()
    world.pass_seconds(SETTLE_WINDOW_SECONDS)

    assert world.reconcile().standing is Standing.REVIEW
    assert world.effect().state is EffectState.CONFLICT
    assert "allows no replay" in world.ledger.run.review_reason


def test_a_new_attempt_starts_counting_absence_anew() -> None:
    world = an_unknown_world()
    world.reconcile()
    world.pass_seconds(SETTLE_WINDOW_SECONDS)
    world.reconcile()
    world.payments.script = [Step(None, NO_ANSWER)]
    with pytest.raises(EffectUnknown):
        world.perform()
    world.pass_seconds(LEASE_SECONDS)

    world.reconcile()

    assert world.effect().state is EffectState.UNKNOWN
    assert len(world.effect().absence_reads_at_ms) == 1


def test_an_accepted_record_that_vanishes_is_a_conflict_once_it_should_show() -> None:
    world = an_unknown_world(made=RecordStatus.PENDING)
    world.reconcile()
    world.payments.held.clear()

    world.clock.pass_ms(SETTLE_WINDOW_SECONDS * 1000 - 1)
    assert world.reconcile().standing is Standing.WAIT
    assert world.effect().state is EffectState.ACCEPTED
    world.clock.pass_ms(1)

    assert world.reconcile().standing is Standing.REVIEW
    assert world.effect().state is EffectState.CONFLICT


def test_an_accepted_record_that_a_late_look_up_does_not_show_is_not_vanished() -> None:
    eventual = PAYMENTS.model_copy(update={"look_up_consistency": Consistency.EVENTUAL})
    world = an_unknown_world(eventual, made=RecordStatus.PENDING)
    world.reconcile()
    world.payments.held.clear()
    world.pass_seconds(SETTLE_WINDOW_SECONDS)

    world.reconcile()

    assert world.effect().state is EffectState.ACCEPTED


# --- nobody answers


def test_an_unreadable_provider_leaves_the_effect_unknown_and_is_asked_ever_less_often() -> None:
    world = an_unknown_world()
    world.payments.read_fault = NO_ANSWER

    waits = [world.reconcile().wait_seconds for _ in range(8)]

    assert world.effect().state is EffectState.UNKNOWN
    assert waits == [10, 20, 40, 80, 160, MAX_WAIT_SECONDS, MAX_WAIT_SECONDS, MAX_WAIT_SECONDS]
    assert world.kinds.count(EventKind.RECONCILE_READ_FAILED) == 8


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


# --- overdue


def test_an_unknown_effect_past_its_deadline_is_told_once_and_stays_unknown() -> None:
    world = an_unknown_world()
    world.payments.read_fault = NO_ANSWER
    world.pass_seconds(RECOVERY_DEADLINE_SECONDS - LEASE_SECONDS - 1)
    assert world.reconcile().standing is Standing.WAIT
    assert not world.effect().overdue
    world.pass_seconds(1)

    for _ in range(3):
        assert world.reconcile().standing is Standing.REVIEW
        world.pass_seconds(24 * 3600)

    assert world.effect().state is EffectState.UNKNOWN
    assert world.effect().overdue
    assert world.kinds.count(EventKind.EFFECT_OVERDUE) == 1
    assert world.kinds.count(EventKind.REVIEW_REQUIRED) == 1


@pytest.mark.parametrize("found", [RecordStatus.DONE, RecordStatus.PENDING])
def test_a_review_for_an_overdue_effect_ends_by_itself_when_the_record_is_found(
    found: RecordStatus,
) -> None:
    world = an_unknown_world(made=found)
    world.payments.read_fault = NO_ANSWER
    world.pass_seconds(RECOVERY_DEADLINE_SECONDS)
    world.reconcile()
    assert world.ledger.run.state is RunState.REVIEW
    world.payments.read_fault = None

    world.reconcile()

    assert world.ledger.run.state is RunState.ACTIVE
    assert world.ledger.run.review_reason == ""
    assert not world.effect().overdue


def test_a_review_for_an_overdue_effect_ends_by_itself_when_absence_is_proven() -> None:
    world = an_unknown_world()
    world.pass_seconds(RECOVERY_DEADLINE_SECONDS)
    world.reconcile()
    assert world.ledger.run.state is RunState.REVIEW
    world.pass_seconds(SETTLE_WINDOW_SECONDS)

    world.reconcile()

    assert world.effect().state is EffectState.PLANNED
    assert world.ledger.run.state is RunState.ACTIVE


def test_a_review_waits_for_the_last_of_several_overdue_effects() -> None:
    world = an_unknown_world(made=RecordStatus.DONE)
    other = a_refund(
        EffectState.UNKNOWN,
        effect_id="eff_other",
        operation="other",
        provider="post",
        unsettled_since_ms=0,
    )
    given(world, other)
    world.payments.read_fault = NO_ANSWER
    world.pass_seconds(RECOVERY_DEADLINE_SECONDS)
    world.reconcile()
    world.payments.read_fault = None

    world.reconcile()

    assert world.effect().state is EffectState.CONFIRMED
    assert world.ledger.run.state is RunState.REVIEW


def test_a_review_for_another_reason_does_not_end_by_itself() -> None:
    world = an_unknown_world(made=RecordStatus.DONE)
    world.change(lambda draft: draft.send_to_review("a person asked"))

    world.reconcile()

    assert world.effect().state is EffectState.CONFIRMED
    assert world.ledger.run.state is RunState.REVIEW


def test_a_conflict_found_in_an_overdue_review_makes_it_a_persons_question() -> None:
    world = an_unknown_world()
    world.payments.read_fault = NO_ANSWER
    world.pass_seconds(RECOVERY_DEADLINE_SECONDS)
    world.reconcile()
    world.payments.read_fault = None
    world.payments.held.append(a_record(mark=None))

    world.reconcile()

    assert world.ledger.run.state is RunState.REVIEW
    assert not world.ledger.run.review_recovers
    assert "without our mark" in world.ledger.run.review_reason


def test_a_pending_record_is_overdue_only_after_the_providers_own_time() -> None:
    world = an_unknown_world(made=RecordStatus.PENDING)
    world.reconcile()
    world.pass_seconds(PENDING_DEADLINE_SECONDS - 1)
    world.reconcile()
    assert world.ledger.run.state is RunState.ACTIVE
    world.pass_seconds(1)

    world.reconcile()

    assert world.ledger.run.state is RunState.REVIEW
    assert world.effect().state is EffectState.ACCEPTED
    assert world.ledger.run.review_recovers


def test_a_mail_that_nobody_can_ask_about_stays_unknown_until_a_person_is_told() -> None:
    world = an_approved_world()
    world.perform()
    world.post.script = [Step(RecordStatus.DONE, NO_ANSWER)]
    with pytest.raises(EffectUnknown):
        world.perform("receipt")
    world.pass_seconds(RECOVERY_DEADLINE_SECONDS)

    outcome = world.reconcile()

    assert outcome.standing is Standing.REVIEW
    assert world.post.look_ups == 0
    assert world.effect(RECEIPT_ID).state is EffectState.UNKNOWN


def test_a_found_refund_ends_a_wait_for_a_yes_that_nothing_needs_any_more() -> None:
    world = an_unknown_world(made=RecordStatus.DONE)
    world.pass_seconds(24 * 3600)
    world.ask("token-2")
    assert world.ledger.run.state is RunState.AWAITING_APPROVAL

    world.reconcile()

    assert world.effect().state is EffectState.CONFIRMED
    assert world.ledger.run.state is RunState.ACTIVE
    assert world.resume() == "SendReceipt"


def test_reconciling_a_run_that_owes_nothing_reads_nothing() -> None:
    world = an_approved_world()

    assert world.reconcile() == Outcome(standing=Standing.SETTLED)
    reconcile_effect(world.ports, TASK.run_id, "eff_never_planned", TASK.actor)
    assert world.payments.look_ups == 0
