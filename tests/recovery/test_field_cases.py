"""Failures that others reported in public, each as a scenario with its own right outcome."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from ledger.approve import Decision
from ledger.effect import Effect
from ledger.errors import EffectInProgress, EffectUnknown, TooLittleTime
from ledger.event import Actor, EventKind
from ledger.execution import replace_execution
from ledger.reconcile import Outcome, Standing, reconcile_run
from ledger.run import RunLedger
from ledger.store import DuePage
from ledger.transitions import EffectState, RunState
from providers.stripe_refunds import CONTRACT
from providers.stripe_transport import Answer
from tests.fakes.stripe import Fault as StripeFault
from tests.recovery.customer import Customer
from tests.recovery.functions import FUNCTION_MS, stage_function
from tests.recovery.invariants import check_invariants, check_outcome
from tests.recovery.recording import recorded_calls
from tests.recovery.state_machine import Status
from tests.recovery.tap import Call, Fault, Strike
from tests.recovery.world import WANTED, Aftermath, World

REFUNDS = "/v1/refunds"
OPERATOR = Actor(kind="operator", actor_id="operator-1")
HOUR_MS = 3_600_000
LEASE_MS = 25_000
# Ids and a version in each state's input and output.
SMALL_BYTES = 300


def refund_of(ledger: RunLedger) -> Effect:
    (found,) = [effect for effect in ledger.effects if effect.operation == "refund"]
    return found


def refund_is(state: EffectState) -> Callable[[RunLedger], bool]:
    return lambda ledger: any(
        effect.operation == "refund" and effect.state is state for effect in ledger.effects
    )


def refund_path(world: World) -> list[str]:
    """Return the states that the refund went through, without repeats."""
    effect_id = refund_of(world.ledger).effect_id
    states = [event.state for event in world.events if event.subject == effect_id]
    return [state for number, state in enumerate(states) if states[:number][-1:] != [state]]


def is_awaiting(ledger: RunLedger) -> bool:
    return ledger.run.state is RunState.AWAITING_APPROVAL


def finish(world: World) -> None:
    """Let everything go on until it is quiet, and check what always holds."""
    world.run()
    check_invariants(world)
    check_outcome(world)


def posts(world: World) -> list[tuple[str | None, bytes]]:
    return [(post.key, post.body) for post in world.stripe.posts(REFUNDS)]


class TestC01LostResponsePartialRefundPersonPressesAgain:
    def test_an_operator_reconciles_and_resumes_twice_and_one_part_is_refunded(self) -> None:
        # Given a third of the charge approved, and a worker that dies once Stripe has paid it.
        wanted = {**WANTED, "amount_minor": 3_000}
        world = World(aftermath=Aftermath.NOTICE_LOST, wanted=wanted)
        world.tap.strike_next("IssueRefund", "stripe_refunds.call", Strike.CRASH_AFTER)
        world.run_until(lambda _: bool(world.tap.struck))
        assert refund_of(world.ledger).state is EffectState.ATTEMPTING

        # When an operator, after the claim lapsed, reconciles and resumes, and does it again.
        world.clock.pass_ms(LEASE_MS)
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
        ],
    )
    def test_an_error_inside_the_process_leaves_key_and_bytes_as_they_are(
        self, fault: StripeFault
    ) -> None:
        # Given a lost or useless answer to the refund, in a process that lives on.
        world = World()
        world.stripe.fail_next(fault, path_prefix=REFUNDS)
        world.run_until(refund_is(EffectState.UNKNOWN))
        intent = refund_of(world.ledger)
        (first,) = posts(world)
        assert len(intent.attempts) == 1

        # When the run is resumed, and resumed again.
        finish(world)
        world.processes.run("Resume", lambda ports: world.functions["Resume"](ports, task(world)))
        finish(world)

        # Then the intent is what it was, and every write carried the same key and bytes.
        settled = refund_of(world.ledger)
        assert settled.state is EffectState.CONFIRMED
        for field in ("effect_id", "idempotency_key", "request", "bound", "generation"):
            assert getattr(settled, field) == getattr(intent, field)
        assert set(posts(world)) == {first}
        assert len(world.stripe.world.refunds) == 1
        assert EventKind.EFFECT_REJECTED not in {event.kind for event in world.events}


def task(world: World) -> dict[str, Any]:
    return {"run_id": world.ledger.run.run_id, "epoch": world.ledger.run.epoch}


class TestC03LockLapsesWhileTheOutcomeIsUnknown:
    def refund_again(self, world: World, ms_left: int = FUNCTION_MS) -> None:
        stage = stage_function(world.clock, "issue_refund", ms_left)
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
        world.clock.pass_ms(LEASE_MS)
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


class TestC15GatewayGivesUpClientStartsASecondRun:
    def test_the_same_run_while_it_is_running_and_after_it_ended(self) -> None:
        world = World()
        world.run_until(is_awaiting)
        for _ in range(2):
            response = world.customer.ask()
            assert response is not None
            assert response["statusCode"] == 202
            assert str(world.ledger.run.run_id) in str(response["body"])
            finish(world)
        assert list(world.orchestrator.executions) == [f"{world.ledger.run.run_id}-e1"]
        assert len(posts(world)) == 1

    @pytest.mark.parametrize(
        "call", [call for call in recorded_calls() if call.process == "POST /runs"], ids=str
    )
    @pytest.mark.parametrize("strike", [Strike.STALL_BEFORE, Strike.STALL_AFTER])
    def test_twice_at_once_is_one_run_and_one_execution(self, call: Call, strike: Strike) -> None:
        world = World([Fault(call.index, strike, turns=1)])
        finish(world)
        assert list(world.orchestrator.executions) == [f"{world.ledger.run.run_id}-e1"]
        opened = [event for event in world.events if event.kind is EventKind.RUN_OPENED]
        assert len(opened) == 1

    def test_the_sweeper_starts_what_was_written_down_and_not_started(self) -> None:
        world = World()
        world.tap.strike_next("POST /runs", "executions.start", Strike.CRASH_BEFORE)
        world.customer.next_at_ms = None  # and the client never comes back
        world.customer.ask()
        assert world.orchestrator.executions == {}
        world.run_until(is_awaiting)
        (execution,) = world.orchestrator.executions.values()
        assert execution.carried[0] == f'{{"run_id": "{world.ledger.run.run_id}", "epoch": 1}}'
        assert {call.process for call in world.tap.calls if call.method == "start"} == {
            "POST /runs",
            "sweeper",
        }


class TestC16ApprovalArrivesAfterTheWaitHasDied:
    def awaiting(self) -> World:
        world = World()
        world.run_until(is_awaiting)
        return world

    def approve(self, world: World) -> Any:
        asked = world.ledger.pending_approval() or world.ledger.approvals[-1]
        shown = {"approval_id": asked.approval_id, "digest": asked.digest}
        world.customer.run_id = world.ledger.run.run_id
        return world.customer.answer(shown, Decision.APPROVE)

    def test_approving_after_the_wait_died_is_stored_and_the_sweeper_goes_on(self) -> None:
        world = self.awaiting()
        world.notices.arrive = False
        for execution in world.orchestrator.executions.values():
            execution.end(Status.TIMED_OUT)
        response = self.approve(world)
        assert response["statusCode"] == 200
        assert world.ledger.proven("request_approved") is not None
        finish(world)
        assert world.ledger.run.epoch == 2
        assert len(posts(world)) == 1

    def test_approving_twice_is_one_decision(self) -> None:
        world = self.awaiting()
        for _ in range(2):
            assert self.approve(world)["statusCode"] == 200
        finish(world)
        granted = [event for event in world.events if event.kind is EventKind.APPROVAL_GRANTED]
        assert len(granted) == 1
        assert len(posts(world)) == 1

    def test_a_bell_that_was_never_rung_is_rung_by_the_sweeper(self) -> None:
        world = self.awaiting()
        world.tap.strike_next("POST decision", "doorbell.ring", Strike.CRASH_BEFORE)
        world.run_until(lambda _: bool(world.tap.struck))
        world.customer.next_at_ms = None  # the person has pressed, and closed the page
        finish(world)
        rings = [call.process for call in world.tap.calls if call.method == "ring"]
        assert rings == ["POST decision", "sweeper"]
        assert world.ledger.run.epoch == 1

    def test_a_token_that_wakes_nobody_costs_time_and_no_second_refund(self) -> None:
        world = self.awaiting()
        world.orchestrator.deaf = True
        assert self.approve(world)["statusCode"] == 200
        finish(world)
        assert world.ledger.run.epoch == 2
        assert len(posts(world)) == 1
        old = world.orchestrator.executions[f"{world.ledger.run.run_id}-e1"]
        assert old.state_name == "Fenced"

    def test_every_wait_has_a_limit_and_a_decision_too_late_is_refused(self) -> None:
        world = self.awaiting()
        world.customer.decides_after_ms = 25 * HOUR_MS
        world.run()
        check_invariants(world)
        assert world.ledger.run.state is RunState.REVIEW
        assert world.ledger.run.review_reason == "the customer did not decide in time"
        assert [found["type"].rsplit(":", 1)[-1] for found in world.customer.refusals] == [
            "approval-expired"
        ]
        assert posts(world) == []


class TestC18StateGrowsPast256Kilobytes:
    def test_large_provider_errors_stay_out_of_states_and_ledger(self) -> None:
        world = World()
        huge = b'{"error": {"type": "api_error", "message": "' + b"x" * 500_000 + b'"}}'
        world.outside.next_answers = [Answer(500, {}, huge)] * 2
        finish(world)
        carried = [text for e in world.orchestrator.executions.values() for text in e.carried]
        assert max(len(text.encode()) for text in carried) <= SMALL_BYTES
        assert len(world.ledger.model_dump_json()) < 20_000

    def test_a_transcript_is_refused_at_the_door(self) -> None:
        world = World(wanted={**WANTED, "transcript": "x" * 300_000})
        response = world.customer.ask()
        assert response is not None
        assert response["statusCode"] == 400
        assert world.runs() == []

    @pytest.mark.parametrize("aftermath", [Aftermath.EXECUTION_DIES, Aftermath.NOTICE_LOST])
    @pytest.mark.parametrize("worker", [Strike.CRASH_AFTER, Strike.STALL_AFTER])
    def test_an_execution_killed_just_after_the_refund_is_found_and_its_run_goes_on(
        self, worker: Strike, aftermath: Aftermath
    ) -> None:
        world = World(aftermath=aftermath)
        world.tap.strike_next("IssueRefund", "stripe_refunds.call", worker)

        def kill(_turns: int = 0) -> None:
            name = world.ledger.run.execution_name
            world.orchestrator.kill(name, tell=aftermath is Aftermath.EXECUTION_DIES)

        world.tap.on_stall = kill  # the worker lives on while its execution is gone
        finish(world)
        assert world.ledger.run.epoch == 2
        assert len(posts(world)) == 1
        first = world.orchestrator.executions[f"{world.ledger.run.run_id}-e1"]
        assert first.status is Status.ABORTED


class TestC19OurOwnConditionalWriteRefusesUs:
    ONCE = frozenset(
        {
            EventKind.RUN_OPENED,
            EventKind.APPROVAL_REQUESTED,
            EventKind.APPROVAL_GRANTED,
        }
    )

    @pytest.mark.parametrize(
        "call", [call for call in recorded_calls() if call.method == "commit"], ids=str
    )
    def test_a_write_that_landed_unheard_is_neither_repeated_nor_lost(self, call: Call) -> None:
        world = World([Fault(call.index, Strike.LOST_ANSWER)])
        finish(world)
        kinds = Counter(event.kind for event in world.events)
        assert {kind: kinds[kind] for kind in self.ONCE} == dict.fromkeys(self.ONCE, 1)
        planned = [e.subject for e in world.events if e.kind is EventKind.EFFECT_PLANNED]
        assert len(planned) == len(set(planned)) == 3
        assert len(world.stripe.world.refunds) == 1
        assert [post.path for post in world.stripe.posts()] == ["/v1/subscriptions/sub_1", REFUNDS]


def _is_satisfied(customer: Customer) -> Callable[[RunLedger], bool]:
    return lambda _: customer.next_at_ms is None


class TestC20TwoSweepersOneStaleIndex:
    """R is unknown and its execution gone, Q completed a second ago, S has a worker in mid-call."""

    def run_ids(self, world: World) -> list[str]:
        return [world.ledger_of(customer).run.run_id for customer in world.customers]

    def sweep_beside_a_worker(
        self, sweep: Callable[[World], None], monkeypatch: pytest.MonkeyPatch
    ) -> World:
        """Return the world after ``sweep`` ran while the worker of S was inside its call."""
        world = World()
        world.sweeper_runs = False
        world.stripe.fail_next(StripeFault.COMMIT_THEN_DROP, path_prefix=REFUNDS)
        world.run_until(refund_is(EffectState.UNKNOWN))
        world.orchestrator.kill(world.ledger.run.execution_name, tell=False)
        for number in ("2", "3"):
            names = {"customer_id": "cus_", "subscription_id": "sub_", "charge_id": "ch_"}
            customer = world.add_customer(
                {**WANTED, **{name: prefix + number for name, prefix in names.items()}}
            )
            if number == "3":
                due_at_ms = world.ledger.run.due_at_ms
                assert due_at_ms is not None
                world.clock.move_to(due_at_ms)
                world.tap.strike_next("IssueRefund", "stripe_refunds.call", Strike.STALL_BEFORE)
                world.tap.on_stall = lambda _: self._sweep_on_stale_index(world, sweep, monkeypatch)
            world.run_until(_is_satisfied(customer))
        world.sweeper_runs = True
        return world

    def _sweep_on_stale_index(
        self, world: World, sweep: Callable[[World], None], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        nominated = tuple(self.run_ids(world))
        assert len(nominated) == 3

        def stale(shard: str, _now_ms: int, _limit: int, _cursor: str | None) -> DuePage:
            first = shard == world.store.due_shards[0]
            return DuePage(run_ids=nominated if first else (), cursor=None)

        before = [world.events_of(world.ledger_of(found)) for found in world.customers[1:]]
        with monkeypatch.context() as patch:
            patch.setattr(world.store, "due", stale)
            sweep(world)
        assert [world.events_of(world.ledger_of(found)) for found in world.customers[1:]] == before
        assert world.outside.writers["sweeper"] == 0

    def check(self, world: World) -> None:
        claimed = [event for event in world.events if event.kind is EventKind.SWEEP_CLAIMED]
        assert len(claimed) == 1
        finish(world)
        assert [made.charge for made in world.stripe.world.refunds] == ["ch_1", "ch_2", "ch_3"]
        assert len(world.stripe.posts(REFUNDS)) == 3
        assert world.outside.writers["sweeper"] == 0
        assert world.ledger.run.epoch == 2

    def test_one_tick_delivered_three_times(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def three_times(world: World) -> None:
            for _ in range(3):
                world.tick()

        self.check(self.sweep_beside_a_worker(three_times, monkeypatch))

    def test_a_second_sweeper_at_every_call_of_the_first(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        struck = 0
        for number in range(40):

            def two_at_once(world: World, number: int = number) -> None:
                world.tap.on_stall = lambda _: world.tick()
                world.tap.strike_at(len(world.tap.calls) + number, Strike.STALL_BEFORE)
                world.tick()

            world = self.sweep_beside_a_worker(two_at_once, monkeypatch)
            if {call.process for call in world.tap.struck} != {"IssueRefund", "sweeper"}:
                break
            struck += 1
            self.check(world)
        assert struck >= 15, "the sweeper makes fewer calls than it has shards and runs to read"
