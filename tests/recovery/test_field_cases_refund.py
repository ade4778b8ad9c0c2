"""What others reported in public about refunds, each as a scenario with its right outcome."""

from typing import Any

import pytest

from ledger.errors import EffectInProgress, EffectUnknown, TooLittleTime
from ledger.event import Actor, EventKind
from ledger.execution import replace_execution
from ledger.reconcile import Outcome, Standing, reconcile_run
from ledger.transitions import EffectState, RunState
from providers.stripe_refunds import CONTRACT
from providers.stripe_transport import Answer
from reconciler.census import report, take_census
from tests.fakes.clock import FakeTimeLeft
from tests.fakes.stripe import Fault as StripeFault
from tests.recovery.functions import FUNCTION_MS
from tests.recovery.invariants import check_invariants
from tests.recovery.scenario import (
    HOUR_MS,
    REFUNDS,
    claim_lapses,
    finish,
    posts,
    refund_is,
    refund_of,
    refund_path,
    said,
    task,
)
from tests.recovery.scenarios.cancel_refund import WANTED
from tests.recovery.state_machine import Status
from tests.recovery.tap import Strike
from tests.recovery.world import Aftermath, World

OPERATOR = Actor(kind="operator", actor_id="operator-1")


class TestC01LostResponsePartialRefundPersonPressesAgain:
    def test_an_operator_reconciles_and_resumes_twice_and_one_part_is_refunded(self) -> None:
        # Given a third of the charge approved, and a worker that dies once Stripe has paid it.
        wanted = {**WANTED, "amount_minor": 3_000}
        world = World(aftermath=Aftermath.NOTICE_LOST, wanted=wanted)
        world.tap.strike_next("IssueRefund", "stripe_refunds.call", Strike.CRASH_AFTER)
        world.run_until(lambda _: bool(world.tap.struck))
        assert refund_of(world.ledger).state is EffectState.ATTEMPTING

        # When an operator, after the claim lapsed, reconciles and resumes, and does it again.
        claim_lapses(world)
        run_id = world.ledger.run.run_id
        for _ in range(2):
            settled: Outcome = world.processes.run(
                "console", lambda ports: reconcile_run(ports, run_id, OPERATOR)
            )
            assert settled.standing is Standing.SETTLED
            world.processes.run(
                "console", lambda ports: replace_execution(ports, run_id, 1, "resumed", OPERATOR)
            )
        finish(world)

        # Then there is one refund of the part, found by a read, and one receipt.
        assert [made.amount for made in world.stripe.world.refunds] == [3_000]
        assert len(posts(world)) == 1
        assert refund_path(world) == ["planned", "attempting", "unknown", "confirmed"]
        evidence = refund_of(world.ledger).evidence
        assert evidence is not None
        assert evidence.record_id == world.stripe.world.refunds[0].id
        assert evidence.fields["amount_minor"] == 3_000
        assert evidence.fields["currency"] == "USD"
        assert evidence.fields["charge_id"] == "ch_1"
        assert evidence.read_at_ms > world.stripe.world.refunds[0].created_ms
        assert len(world.ses.sent) == 1
        assert world.ledger.run.epoch == 2


class TestC02ErrorHandlerThrowsTheIntentAway:
    @pytest.mark.parametrize(
        "fault",
        [
            StripeFault.COMMIT_THEN_DROP,
            StripeFault.DROP_BEFORE_COMMIT,
            StripeFault.COMMIT_THEN_500,
            StripeFault.UNAVAILABLE,
            None,
        ],
        ids=lambda fault: fault or "502 of a proxy after the commit",
    )
    def test_an_error_inside_the_process_leaves_key_and_bytes_as_they_are(
        self, fault: StripeFault | None, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        # Given a lost or useless answer to the refund, in a process that lives on.
        world = World()
        if fault is None:
            self.answer_502_once(world, monkeypatch)
        else:
            world.stripe.fail_next(fault, path_prefix=REFUNDS)
        world.run_until(refund_is(EffectState.UNKNOWN))
        intent = refund_of(world.ledger)
        (first,) = posts(world)
        assert len(intent.attempts) == 1
        (yes,) = world.ledger.approvals
        assert yes.spent_on["refund"] == intent.effect_id

        # When the run is resumed, and resumed again.
        finish(world)
        world.processes.run("Resume", lambda ports: world.function("Resume")(ports, task(world)))
        finish(world)

        # Then the intent is what it was, and every write carried the same key and bytes.
        settled = refund_of(world.ledger)
        assert settled.state is EffectState.CONFIRMED
        for field in ("effect_id", "idempotency_key", "request", "bound", "generation"):
            assert getattr(settled, field) == getattr(intent, field)
        assert settled.attempts[0].attempt_id == intent.attempts[0].attempt_id
        assert world.ledger.approvals == (yes,)
        assert set(posts(world)) == {first}
        assert len(world.stripe.world.refunds) == 1
        assert EventKind.EFFECT_REJECTED not in {event.kind for event in world.events}

    def answer_502_once(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        """Let Stripe make the next refund, and something in between answer for it."""
        stripe = world.outside.stripe

        def through_a_proxy(method: str, path: str, headers: Any, body: bytes) -> Answer:
            answer = stripe(method, path, headers, body)
            if (method, path) != ("POST", REFUNDS):
                return answer
            monkeypatch.setattr(world.outside, "stripe", stripe)
            return Answer(502, {}, b"<html>Bad Gateway</html>")

        monkeypatch.setattr(world.outside, "stripe", through_a_proxy)


class TestC03LockLapsesWhileTheOutcomeIsUnknown:
    def refund_again(self, world: World, ms_left: int = FUNCTION_MS) -> None:
        stage = world.stage("issue_refund", ms_left)
        payload = task(world)
        world.processes.run("IssueRefund", lambda ports: stage(ports, payload))

    def a_crash_after_the_refund(self) -> World:
        world = World(aftermath=Aftermath.NOTICE_LOST)
        world.tap.strike_next("IssueRefund", "stripe_refunds.call", Strike.CRASH_AFTER)
        world.run_until(lambda _: bool(world.tap.struck))
        return world

    def test_a_second_invocation_at_once_is_told_that_one_is_in_progress(self) -> None:
        world = self.a_crash_after_the_refund()
        with pytest.raises(EffectInProgress):
            self.refund_again(world)
        assert len(posts(world)) == 1
        finish(world)
        assert len(posts(world)) == 1

    def test_a_lapsed_claim_permits_a_read_and_never_a_second_write(self) -> None:
        world = self.a_crash_after_the_refund()
        claim_lapses(world)
        with pytest.raises(EffectUnknown):
            self.refund_again(world)
        finish(world)
        assert len(posts(world)) == 1
        assert refund_of(world.ledger).state is EffectState.CONFIRMED

    def test_without_enough_time_nothing_begins_and_nothing_is_stuck(self) -> None:
        world = World()
        world.run_until(lambda ledger: ledger.proven("renewal_cancelled") is not None)
        before = world.ledger
        with pytest.raises(TooLittleTime):
            self.refund_again(world, ms_left=0)
        assert world.ledger == before
        assert posts(world) == []
        finish(world)
        assert world.ledger.run.state is RunState.COMPLETED


class TestC04SweeperCallsAnOldRefundFailed:
    def unknown_for_25_hours(self, fault: StripeFault) -> World:
        world = World()
        world.stripe.fail_next(fault, path_prefix=REFUNDS)
        world.run_until(refund_is(EffectState.UNKNOWN))
        world.outside.stripe_reachable = False
        world.run(until_ms=world.clock.now_ms() + 25 * HOUR_MS)
        world.clock.move_to(refund_of(world.ledger).attempts[0].claimed_at_ms + 25 * HOUR_MS)
        return world

    def test_unreachable_it_stays_unknown_and_a_person_is_told(self) -> None:
        world = self.unknown_for_25_hours(StripeFault.COMMIT_THEN_DROP)
        check_invariants(world)
        assert refund_of(world.ledger).state is EffectState.UNKNOWN
        assert refund_of(world.ledger).overdue
        assert world.ledger.run.state is RunState.REVIEW
        told = [event for event in world.events if event.kind is EventKind.EFFECT_OVERDUE]
        assert len(told) == 1
        assert world.ses.sent == []
        # And the census measures it, for the alarm.
        plenty = FakeTimeLeft(world.clock, world.clock.now_ms() + FUNCTION_MS)
        world.processes.run(
            "census", lambda ports: report(take_census(ports.store, ports.clock, plenty))
        )
        assert said(world, "UnknownEffectsPastDeadline") == [1.0]
        (age_seconds,) = said(world, "OldestUnknownAgeSeconds")
        assert age_seconds >= 25 * HOUR_MS / 1000

    def test_existing_it_is_confirmed_without_a_second_write(self) -> None:
        world = self.unknown_for_25_hours(StripeFault.COMMIT_THEN_DROP)
        world.outside.stripe_reachable = True
        finish(world)
        assert refund_path(world) == ["planned", "attempting", "unknown", "confirmed"]
        assert len(posts(world)) == 1

    def test_absent_by_two_reads_it_is_made_after_the_approval_was_asked_again(self) -> None:
        world = self.unknown_for_25_hours(StripeFault.DROP_BEFORE_COMMIT)
        world.outside.stripe_reachable = True
        finish(world)
        assert refund_path(world)[:4] == ["planned", "attempting", "unknown", "planned"]
        assert refund_path(world)[-1] == "confirmed"
        at_ms = {event.kind: event.at_ms for event in world.events}
        apart_ms = at_ms[EventKind.ABSENCE_PROVEN] - at_ms[EventKind.ABSENCE_READ]
        assert apart_ms >= CONTRACT.settle_window_seconds * 1000
        asked = [event for event in world.events if event.kind is EventKind.APPROVAL_REQUESTED]
        assert len(asked) == 2  # the first yes was a day old
        newest = world.ledger.newest_approval()
        assert newest is not None
        assert refund_of(world.ledger).approval_id == newest.approval_id


class TestC07ResumeAfterTheProviderForgotTheKey:
    def sleeps_49_hours(self, fault: StripeFault) -> World:
        world = World()
        world.stripe.fail_next(fault, path_prefix=REFUNDS)
        world.run_until(refund_is(EffectState.UNKNOWN))
        for execution in world.orchestrator.executions.values():
            execution.end(Status.ABORTED)
        world.clock.pass_ms(49 * HOUR_MS)
        return world

    def test_a_refund_that_exists_is_found_and_no_key_is_trusted(self) -> None:
        world = self.sleeps_49_hours(StripeFault.COMMIT_THEN_DROP)
        finish(world)
        assert len(posts(world)) == 1
        assert world.ledger.run.state is RunState.COMPLETED

    def test_a_refund_that_is_absent_is_a_new_generation_with_a_new_yes(self) -> None:
        world = self.sleeps_49_hours(StripeFault.DROP_BEFORE_COMMIT)
        old_key = refund_of(world.ledger).idempotency_key
        first_used_at_ms = refund_of(world.ledger).key_first_used_at_ms
        assert first_used_at_ms is not None
        finish(world)
        refund = refund_of(world.ledger)
        assert [attempt.generation for attempt in refund.attempts] == [1, 2]
        assert refund.idempotency_key != old_key
        assert refund.key_first_used_at_ms is not None
        assert refund.key_first_used_at_ms >= first_used_at_ms + 49 * HOUR_MS
        assert [body for _, body in posts(world)] == [posts(world)[0][1]] * 2
        assert len(world.stripe.world.refunds) == 1
        assert len(world.ledger.approvals) == 2
        claims = [e for e in world.events if e.kind is EventKind.EFFECT_CLAIMED]
        read = [
            e.details["authority_charge_status"] for e in claims if e.subject == refund.effect_id
        ]
        assert read == ["succeeded"] * 2  # the owner was asked again before the second attempt
