"""What others reported about starts, approvals and executions, each with its right outcome."""

from typing import Any

import pytest

from ledger.approve import Decision
from ledger.event import EventKind
from ledger.transitions import RunState
from providers.stripe_transport import Answer
from tests.recovery.invariants import check_invariants
from tests.recovery.recording import recorded_calls
from tests.recovery.scenario import (
    HOUR_MS,
    finish,
    is_awaiting,
    posts,
)
from tests.recovery.scenarios.cancel_refund import WANTED
from tests.recovery.state_machine import Status
from tests.recovery.tap import Call, Fault, Strike
from tests.recovery.world import Aftermath, World

# Ids and a version in each state's input and output.
SMALL_BYTES = 300


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
            "worker",
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
        assert rings == ["POST decision", "worker"]
        assert world.ledger.run.epoch == 1

    @pytest.mark.parametrize("strike", [Strike.LOST_REQUEST, Strike.LOST_ANSWER])
    def test_a_bell_without_an_answer_is_no_error_for_the_person(self, strike: Strike) -> None:
        world = self.awaiting()
        world.tap.strike_next("POST decision", "doorbell.ring", strike)
        assert self.approve(world)["statusCode"] == 200
        finish(world)
        assert len(posts(world)) == 1

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
        assert len(repr(world.ledger)) < 20_000

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
