"""What picks a run up when its own execution cannot: status events and the scheduled sweeper."""

from collections.abc import Mapping

from aws_cdk import Duration, Stack
from aws_cdk.aws_dynamodb import ITable
from aws_cdk.aws_events import EventPattern, Match, Rule, Schedule
from aws_cdk.aws_events_targets import LambdaFunction
from aws_cdk.aws_lambda_destinations import SqsDestination
from aws_cdk.aws_sqs import Queue, QueueEncryption
from constructs import Construct

from ledger.contract import ProviderContract
from stacks.access import (
    Access,
    ask_providers,
    change_runs,
    find_due,
    join,
    ring_doorbells,
    start_executions,
)
from stacks.acknowledge import acknowledge
from stacks.code_asset import door_code
from stacks.deployment import Deployment
from stacks.function import LedgerFunction

ENDED_WITHOUT_SUCCESS = ("ABORTED", "FAILED", "TIMED_OUT")
# EventBridge's finest rate. A lost event is noticed by the sweeper after at most this.
SWEEP_INTERVAL_MINUTES = 1
# Ends before the next sweep begins, so that sweeps do not pile up.
SWEEPER_TIMEOUT_SECONDS = 55
STATUS_TIMEOUT_SECONDS = 30
# After an hour the sweeper has long seen the same run.
EVENT_AGE_MAX_HOURS = 1
EVENT_RETRIES_MAX = 2
# SQS's longest: an event nobody could handle waits for a person, over a holiday too.
DEAD_LETTER_DAYS = 14


class RecoveryStack(Stack):
    """Status events and the sweeper, each harmless if it comes twice or never."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        deployment: Deployment,
        contracts: Mapping[str, ProviderContract],
        table: ITable,
    ) -> None:
        """Add both ways of recovery, for every state machine of ``deployment``."""
        super().__init__(scope, construct_id, description="Recovery ledger: recovery of runs")
        self._deployment = deployment
        self._code = door_code(deployment, "reconciler")
        restart = join(change_runs(table), start_executions(self, deployment))
        self._watch_executions(restart)
        self._sweep(
            join(
                restart,
                find_due(table),
                ring_doorbells(self, deployment),
                ask_providers(self, deployment, contracts.values()),
            )
        )

    def _watch_executions(self, access: Access) -> None:
        dead_letters = Queue(
            self,
            "UnhandledStatusEvents",
            encryption=QueueEncryption.SQS_MANAGED,
            enforce_ssl=True,
            retention_period=Duration.days(DEAD_LETTER_DAYS),
        )
        acknowledge(dead_letters, "SQS3", "This queue is itself where undeliverable events end.")
        function = LedgerFunction(
            self,
            "ExecutionStatus",
            deployment=self._deployment,
            code=self._code,
            handler="reconciler.execution_status.handler",
            timeout_seconds=STATUS_TIMEOUT_SECONDS,
            access=access,
        )
        # EventBridge's own dead letters are events it could not hand over; these it did.
        function.configure_async_invoke(
            max_event_age=Duration.hours(EVENT_AGE_MAX_HOURS),
            on_failure=SqsDestination(dead_letters),
            retry_attempts=EVENT_RETRIES_MAX,
        )
        Rule(
            self,
            "ExecutionEnded",
            description="Executions of this deployment that ended without success",
            event_pattern=EventPattern(
                source=["aws.states"],
                detail_type=["Step Functions Execution Status Change"],
                detail={
                    "status": list(ENDED_WITHOUT_SUCCESS),
                    "stateMachineArn": Match.prefix(
                        self._deployment.state_machine_arn_prefix(self)
                    ),
                },
            ),
            targets=[
                LambdaFunction(
                    function,
                    dead_letter_queue=dead_letters,
                    max_event_age=Duration.hours(EVENT_AGE_MAX_HOURS),
                    retry_attempts=EVENT_RETRIES_MAX,
                )
            ],
        )

    def _sweep(self, access: Access) -> None:
        function = LedgerFunction(
            self,
            "Sweeper",
            deployment=self._deployment,
            code=self._code,
            handler="reconciler.sweeper.handler",
            timeout_seconds=SWEEPER_TIMEOUT_SECONDS,
            access=access,
        )
        # The next minute's sweep is the retry.
        function.configure_async_invoke(retry_attempts=0)
        Rule(
            self,
            "EveryMinute",
            description="Wakes the sweeper",
            schedule=Schedule.rate(Duration.minutes(SWEEP_INTERVAL_MINUTES)),
            targets=[LambdaFunction(function, retry_attempts=0)],
        )
