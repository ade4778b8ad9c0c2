"""Executions and doorbells on AWS Step Functions."""

import json
from typing import TYPE_CHECKING

from botocore.exceptions import ClientError

from adapters.aws_faults import LOST_ANSWERS, as_ledger_error, code_of
from ledger.errors import InvariantBroken, RetryLater
from ledger.ports import ExecutionStatus, StartOutcome

if TYPE_CHECKING:
    from mypy_boto3_stepfunctions import SFNClient

# Step Functions keeps a started or a timed-out task's token apart from one it never gave, but to
# a doorbell they are one: nobody waits behind it.
STALE_TOKEN_CODES = frozenset({"InvalidToken", "TaskDoesNotExist", "TaskTimedOut"})
NO_SUCH_VERSION_CODES = frozenset({"StateMachineDeleting", "StateMachineDoesNotExist"})
RUNNING_STATUSES = frozenset({"PENDING_REDRIVE", "RUNNING"})


class StepFunctionsExecutions:
    """``ledger.ports.Executions`` over one state machine for each workflow version.

    Args:
        client: a Step Functions client.
        arn_prefix: the state machines' ARN up to and including the deployment's ``<name>-``.
    """

    def __init__(self, client: "SFNClient", arn_prefix: str) -> None:
        """Use the state machines under ``arn_prefix``."""
        self._client = client
        self._arn_prefix = arn_prefix

    def start(self, workflow: str, execution_name: str, run_id: str, epoch: int) -> StartOutcome:
        """Start the named execution at most once. Raises RetryLater when there is no answer.

        STARTED also stands for the same start made before, while that execution runs.
        """
        try:
            self._client.start_execution(
                stateMachineArn=self._machine_arn(workflow),
                name=execution_name,
                # The same bytes each time: a repeat with other input would be refused.
                input=json.dumps({"run_id": run_id, "epoch": epoch}),
            )
        except ClientError as error:
            if code_of(error) == "ExecutionAlreadyExists":
                return self._existing(workflow, execution_name)
            if code_of(error) in NO_SUCH_VERSION_CODES:
                return StartOutcome.NO_SUCH_VERSION
            raise as_ledger_error(error) from error
        except LOST_ANSWERS as error:
            raise as_ledger_error(error) from error
        return StartOutcome.STARTED

    def status(self, workflow: str, execution_name: str) -> ExecutionStatus:
        """Return the execution's status, eventually consistent. Raises RetryLater.

        NEVER_STARTED also stands for one that ended over 90 days ago: its history is deleted.
        """
        try:
            answer = self._client.describe_execution(
                executionArn=self._execution_arn(workflow, execution_name)
            )
        except ClientError as error:
            if code_of(error) == "ExecutionDoesNotExist":
                return ExecutionStatus.NEVER_STARTED
            raise as_ledger_error(error) from error
        except LOST_ANSWERS as error:
            raise as_ledger_error(error) from error
        if answer["status"] in RUNNING_STATUSES:
            return ExecutionStatus.RUNNING
        return ExecutionStatus.ENDED

    def _existing(self, workflow: str, execution_name: str) -> StartOutcome:
        match self.status(workflow, execution_name):
            case ExecutionStatus.RUNNING:
                return StartOutcome.ALREADY_RUNNING
            case ExecutionStatus.ENDED:
                return StartOutcome.ALREADY_ENDED
            case ExecutionStatus.NEVER_STARTED:
                raise RetryLater(f"Execution {execution_name} exists but cannot be read yet.")

    def _machine_arn(self, workflow: str) -> str:
        name, separator, number = workflow.rpartition("@")
        if not (name and separator and number.isdecimal()):
            raise InvariantBroken(f"{workflow!r} is no workflow version.")
        return f"{self._arn_prefix}{name}-v{number}"

    def _execution_arn(self, workflow: str, execution_name: str) -> str:
        machine = self._machine_arn(workflow).replace(":stateMachine:", ":execution:", 1)
        return f"{machine}:{execution_name}"


class StepFunctionsDoorbell:
    """``ledger.ports.Doorbell`` over task tokens."""

    def __init__(self, client: "SFNClient") -> None:
        """Use the client."""
        self._client = client

    def ring(self, task_token: str) -> bool:
        """Return whether an execution was woken. Raises RetryLater when there is no answer.

        A repeat after a lost answer returns False although the first one woke somebody.
        """
        try:
            self._client.send_task_success(taskToken=task_token, output="{}")
        except ClientError as error:
            if code_of(error) in STALE_TOKEN_CODES:
                return False
            raise as_ledger_error(error) from error
        except LOST_ANSWERS as error:
            raise as_ledger_error(error) from error
        return True
