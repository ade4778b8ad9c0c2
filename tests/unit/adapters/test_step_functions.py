"""Executions are started at most once, and a doorbell that nobody hears is no error."""

import json
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import pytest
from botocore.stub import Stubber

from adapters.aws_clients import step_functions_client
from adapters.step_functions import StepFunctionsDoorbell, StepFunctionsExecutions
from ledger.errors import InvariantBroken, LedgerUnavailable, RetryLater
from ledger.ports import ExecutionStatus, StartOutcome
from tests.ledger_table import FAKE_ACCOUNT
from tests.unit.adapters.faulty_client import Fate, FaultyClient, fails, read_timeout

PREFIX = "arn:aws:states:eu-central-1:123456789012:stateMachine:recovery-ledger-"
MACHINE = f"{PREFIX}cancel-refund-v4"
EXECUTION = (
    "arn:aws:states:eu-central-1:123456789012:execution:recovery-ledger-cancel-refund-v4:run-1-e2"
)
START = {"stateMachineArn": MACHINE, "name": "run-1-e2", "input": '{"run_id": "run-1", "epoch": 2}'}
TOKEN = "token-of-a-waiting-task"

PASSING = [("ThrottlingException", 400), ("KmsThrottlingException", 400), ("Oops", 500)]
LASTING = [("AccessDeniedException", 400), ("InvalidArn", 400), ("ValidationException", 400)]


class World:
    """The adapters over a client that answers as told and refuses any other call."""

    def __init__(self) -> None:
        self.client = step_functions_client()
        self.stub = Stubber(self.client)
        self.executions = StepFunctionsExecutions(self.client, PREFIX)
        self.doorbell = StepFunctionsDoorbell(self.client)

    def start(self) -> StartOutcome:
        return self.executions.start("cancel-refund@4", "run-1-e2", "run-1", 2)

    def status(self) -> ExecutionStatus:
        return self.executions.status("cancel-refund@4", "run-1-e2")

    def describes(self, status: str) -> None:
        self.stub.add_response(
            "describe_execution",
            {
                "executionArn": EXECUTION,
                "stateMachineArn": MACHINE,
                "status": status,
                "startDate": "2026-01-01T00:00:00Z",
            },
            {"executionArn": EXECUTION},
        )

    def refuses(self, operation: str, code: str, status: int = 400) -> None:
        self.stub.add_client_error(operation, code, "secret words", http_status_code=status)


@pytest.fixture
def world() -> Iterator[World]:
    """Yield the adapters; every answer that was prepared must have been asked for."""
    with mock.patch.dict("os.environ", FAKE_ACCOUNT):
        found = World()
        with found.stub:
            yield found
            found.stub.assert_no_pending_responses()


class TestStart:
    def test_given_a_version_when_started_then_its_machine_gets_the_name_and_ids_only(
        self, world: World
    ) -> None:
        answer = {"executionArn": EXECUTION, "startDate": "2026-01-01T00:00:00Z"}
        world.stub.add_response("start_execution", answer, START)

        assert world.start() is StartOutcome.STARTED
        assert json.loads(START["input"]) == {"run_id": "run-1", "epoch": 2}

    @pytest.mark.parametrize(
        ("status", "outcome"),
        [
            ("RUNNING", StartOutcome.ALREADY_RUNNING),
            ("PENDING_REDRIVE", StartOutcome.ALREADY_RUNNING),
            ("SUCCEEDED", StartOutcome.ALREADY_ENDED),
            ("FAILED", StartOutcome.ALREADY_ENDED),
            ("TIMED_OUT", StartOutcome.ALREADY_ENDED),
            ("ABORTED", StartOutcome.ALREADY_ENDED),
        ],
    )
    def test_given_the_name_is_taken_when_started_then_the_other_execution_is_looked_at(
        self, world: World, status: str, outcome: StartOutcome
    ) -> None:
        world.refuses("start_execution", "ExecutionAlreadyExists")
        world.describes(status)

        assert world.start() is outcome

    def test_given_the_name_is_taken_but_not_visible_yet_when_started_then_retry_later(
        self, world: World
    ) -> None:
        world.refuses("start_execution", "ExecutionAlreadyExists")
        world.refuses("describe_execution", "ExecutionDoesNotExist")

        with pytest.raises(RetryLater):
            world.start()

    @pytest.mark.parametrize("code", ["StateMachineDoesNotExist", "StateMachineDeleting"])
    def test_given_no_machine_of_that_version_when_started_then_no_such_version(
        self, world: World, code: str
    ) -> None:
        world.refuses("start_execution", code)

        assert world.start() is StartOutcome.NO_SUCH_VERSION

    @pytest.mark.parametrize(("code", "status"), [*PASSING, ("ExecutionLimitExceeded", 400)])
    def test_given_a_fault_that_passes_when_started_then_retry_later(
        self, world: World, code: str, status: int
    ) -> None:
        world.refuses("start_execution", code, status)

        with pytest.raises(RetryLater, match=code) as caught:
            world.start()
        assert "secret words" not in str(caught.value)

    @pytest.mark.parametrize(("code", "status"), [*LASTING, ("InvalidName", 400)])
    def test_given_a_fault_that_stays_when_started_then_loud(
        self, world: World, code: str, status: int
    ) -> None:
        world.refuses("start_execution", code, status)

        with pytest.raises(InvariantBroken, match=code):
            world.start()

    @pytest.mark.parametrize("workflow", ["cancel-refund", "@4", "cancel-refund@", "a@four"])
    def test_given_a_name_that_is_no_version_when_started_then_nothing_is_called(
        self, world: World, workflow: str
    ) -> None:
        with pytest.raises(InvariantBroken, match="no workflow version"):
            world.executions.start(workflow, "run-1-e2", "run-1", 2)


class TestStatus:
    @pytest.mark.parametrize(
        ("status", "expected"),
        [
            ("RUNNING", ExecutionStatus.RUNNING),
            ("PENDING_REDRIVE", ExecutionStatus.RUNNING),
            ("SUCCEEDED", ExecutionStatus.ENDED),
            ("FAILED", ExecutionStatus.ENDED),
            ("TIMED_OUT", ExecutionStatus.ENDED),
            ("ABORTED", ExecutionStatus.ENDED),
        ],
    )
    def test_given_an_execution_when_asked_then_running_or_ended(
        self, world: World, status: str, expected: ExecutionStatus
    ) -> None:
        world.describes(status)

        assert world.status() is expected

    def test_given_no_execution_when_asked_then_never_started(self, world: World) -> None:
        world.refuses("describe_execution", "ExecutionDoesNotExist")

        assert world.status() is ExecutionStatus.NEVER_STARTED

    @pytest.mark.parametrize(("code", "status"), PASSING)
    def test_given_a_fault_that_passes_when_asked_then_retry_later(
        self, world: World, code: str, status: int
    ) -> None:
        world.refuses("describe_execution", code, status)

        with pytest.raises(RetryLater):
            world.status()

    @pytest.mark.parametrize(("code", "status"), LASTING)
    def test_given_a_fault_that_stays_when_asked_then_loud(
        self, world: World, code: str, status: int
    ) -> None:
        world.refuses("describe_execution", code, status)

        with pytest.raises(InvariantBroken):
            world.status()


class TestDoorbell:
    def test_given_a_waiting_task_when_rung_then_woken_with_nothing_but_the_ring(
        self, world: World
    ) -> None:
        world.stub.add_response("send_task_success", {}, {"taskToken": TOKEN, "output": "{}"})

        assert world.doorbell.ring(TOKEN) is True

    @pytest.mark.parametrize("code", ["InvalidToken", "TaskDoesNotExist", "TaskTimedOut"])
    def test_given_a_stale_token_when_rung_then_nobody_is_woken(
        self, world: World, code: str
    ) -> None:
        world.refuses("send_task_success", code)

        assert world.doorbell.ring(TOKEN) is False

    @pytest.mark.parametrize(("code", "status"), PASSING)
    def test_given_a_fault_that_passes_when_rung_then_retry_later_without_the_token(
        self, world: World, code: str, status: int
    ) -> None:
        world.refuses("send_task_success", code, status)

        with pytest.raises(RetryLater) as caught:
            world.doorbell.ring(TOKEN)
        assert TOKEN not in str(caught.value)

    @pytest.mark.parametrize(("code", "status"), LASTING)
    def test_given_a_fault_that_stays_when_rung_then_loud(
        self, world: World, code: str, status: int
    ) -> None:
        world.refuses("send_task_success", code, status)

        with pytest.raises(InvariantBroken):
            world.doorbell.ring(TOKEN)


def test_given_no_answer_when_any_call_is_made_then_retry_later_and_not_the_stores_error() -> None:
    silent: list[Fate] = [fails(read_timeout())]
    client: Any = FaultyClient(
        None,
        start_execution=[*silent],
        describe_execution=[*silent],
        send_task_success=[*silent],
    )
    executions = StepFunctionsExecutions(client, PREFIX)
    calls: list[Callable[[], object]] = [
        lambda: executions.start("cancel-refund@4", "run-1-e2", "run-1", 2),
        lambda: executions.status("cancel-refund@4", "run-1-e2"),
        lambda: StepFunctionsDoorbell(client).ring(TOKEN),
    ]

    for call in calls:
        with pytest.raises(RetryLater) as caught:
            call()
        assert not isinstance(caught.value, LedgerUnavailable)
