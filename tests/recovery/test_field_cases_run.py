"""What others reported about starts, approvals and executions, each with its right outcome."""

import hashlib
from collections.abc import Callable
from typing import Any, cast

import pytest

from ledger.approve import Decision
from ledger.event import EventKind
from ledger.transitions import RunState
from providers.s3_layout import files_prefix
from providers.stripe_transport import Answer
from tests.fakes.archive_bench import ARTIFACTS, PROJECTS
from tests.fakes.stripe_world import Subscription
from tests.recovery.invariants import check_invariants
from tests.recovery.recording import recorded_calls
from tests.recovery.scenario import (
    HOUR_MS,
    finish,
    is_awaiting,
    posts,
    said,
)
from tests.recovery.scenarios import scenarios
from tests.recovery.scenarios.cancel_refund import WANTED
from tests.recovery.scenarios.project_export import ProjectExportOutside, archives
from tests.recovery.state_machine import Status
from tests.recovery.tap import Call, Fault, Strike
from tests.recovery.world import Aftermath, World

# A handful of calls; API Gateway gives up after 29 s.
QUICK_MS = 1_000
# Ids and a version in each state's input and output.
SMALL_BYTES = 300
# Some ten records of a few hundred characters; far from the 400 KB of one item.
SMALL_LEDGER_CHARACTERS = 20_000
ORDER_LINES = 2_000


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

    def test_the_answer_waits_for_no_effect(self) -> None:
        world = World()
        before_ms = world.clock.now_ms()
        response = world.customer.ask()
        assert response is not None
        assert response["statusCode"] == 202
        assert world.clock.now_ms() - before_ms < QUICK_MS
        made = {call.method for call in world.tap.calls if call.process == "POST /runs"}
        assert {"commit", "start"} <= made
        assert "call" not in made
        assert world.ledger.effects == ()
        finish(world)


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
        assert said(world, "ApprovalsOverdue") == [1.0]


class TestC18StateGrowsPast256Kilobytes:
    def test_large_provider_errors_stay_out_of_states_and_ledger(self) -> None:
        world = World()
        huge = b'{"error": {"type": "api_error", "message": "' + b"x" * 500_000 + b'"}}'
        world.outside.next_answers = [Answer(500, {}, huge)] * 2
        finish(world)
        self.assert_small(world)

    def test_a_transcript_is_refused_at_the_door(self) -> None:
        world = World(wanted={**WANTED, "transcript": "x" * 300_000})
        response = world.customer.ask()
        assert response is not None
        assert response["statusCode"] == 400
        assert world.runs() == []

    @pytest.mark.parametrize(
        ("line", "status"),
        [({"sku": "sku-0001", "name": "a name of some length", "minor": 395}, 400), (1, 422)],
        ids=["over the limit of a body", "within it"],
    )
    def test_an_order_of_2000_lines_is_no_part_of_a_request(
        self, line: object, status: int
    ) -> None:
        world = World()
        world.customer._wanted = {**WANTED, "lines": [line] * ORDER_LINES}  # type: ignore[dict-item]
        response = world.customer.ask()
        assert response is not None
        assert response["statusCode"] == status
        assert world.runs() == []
        assert world.stripe.requests == []

    def test_an_order_of_2000_lines_at_the_provider_stays_there(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        # Given a charge, a refund and a subscription that each come with 2,000 lines.
        world = World()
        lines = [
            {"id": f"il_{number:04}", "description": "x" * 50} for number in range(ORDER_LINES)
        ]

        def with_lines(export: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
            return lambda *found: {**export(*found), "lines": {"object": "list", "data": lines}}

        for name in ("export_charge", "export_refund"):
            export = getattr(world.stripe.world, name)
            monkeypatch.setattr(world.stripe.world, name, with_lines(export))
        monkeypatch.setattr(Subscription, "export", with_lines(Subscription.export))

        # When the run is played to its end.
        finish(world)

        # Then no state carries any of them, and the ledger holds none.
        assert world.ledger.run.state is RunState.COMPLETED
        self.assert_small(world)

    def test_2000_files_are_in_the_archive_and_the_ledger_holds_its_digest(self) -> None:
        world = World(scenario=scenarios()["project-export@1"])
        s3 = cast("ProjectExportOutside", world.outside).s3
        for number in range(ORDER_LINES):
            s3.put(PROJECTS, f"{files_prefix('prj_1')}line-{number:04}.txt", b"one line")
        world.run()
        assert world.ledger.run.state is RunState.COMPLETED
        (archive,) = s3.buckets[ARTIFACTS].objects.values()
        assert b"line-1999.txt" in archive.body
        (effect,) = archives(world.ledger)
        digest = f"sha256:{hashlib.sha256(archive.body).hexdigest()}"
        assert effect.evidence is not None
        assert effect.evidence.fields["digest"] == digest
        self.assert_small(world)

    def assert_small(self, world: World) -> None:
        """Fail unless states carry ids alone and the ledger is as small as ever."""
        carried = [text for e in world.orchestrator.executions.values() for text in e.carried]
        assert max(len(text.encode()) for text in carried) <= SMALL_BYTES
        assert len(repr(world.ledger)) < SMALL_LEDGER_CHARACTERS
        assert max(len(event.model_dump_json()) for event in world.events) < 2_000

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
