"""What picks a run up when its own execution cannot: events of others, and the sweeper."""

from collections.abc import Mapping
from typing import NamedTuple

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
# The names under which EventBridge hands on the events that the configuration set publishes.
MAIL_EVENTS = (
    "Email Bounced",
    "Email Complaint Received",
    "Email Delivered",
    "Email Rejected",
    "Email Sent",
)
# EventBridge's finest rate. A lost event is noticed by the sweeper after at most this.
SWEEP_INTERVAL_MINUTES = 1
# Ends before the next sweep begins, so that sweeps do not pile up.
SWEEPER_TIMEOUT_SECONDS = 55
STATUS_TIMEOUT_SECONDS = 30
# After an hour the sweeper has long seen the same run; an event about mail is kept for a person.
EVENT_AGE_MAX_HOURS = 1
EVENT_RETRIES_MAX = 2
# SQS's longest: an event nobody could handle waits for a person, over a holiday too.
DEAD_LETTER_DAYS = 14


class Watched(NamedTuple):
    """Events of one kind, the function that handles them, and the names of what this takes."""

    function: str
    handler: str
    rule: str
    description: str
    pattern: EventPattern
    dead_letters: str


class RecoveryStack(Stack):
    """Status events, mail events and the sweeper, each harmless if it comes twice or never."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        deployment: Deployment,
        contracts: Mapping[str, ProviderContract],
        table: ITable,
    ) -> None:
        """Add these ways of recovery, for every state machine of ``deployment``."""
        super().__init__(scope, construct_id, description="Recovery ledger: recovery of runs")
        self._deployment = deployment
        restart = join(change_runs(table), start_executions(self, deployment))
        self._watch_executions(restart)
        self._watch_mail(restart)
        self._sweep(
            join(
                restart,
                find_due(table),
                ring_doorbells(self, deployment),
                ask_providers(self, deployment, contracts.values()),
            )
        )

    def _watch_executions(self, access: Access) -> None:
        self._watch(
            Watched(
                function="ExecutionStatus",
                handler="reconciler.execution_status.handler",
                rule="ExecutionEnded",
                description="Executions of this deployment that ended without success",
                pattern=EventPattern(
                    source=["aws.states"],
                    detail_type=["Step Functions Execution Status Change"],
                    detail={
                        "status": list(ENDED_WITHOUT_SUCCESS),
                        "stateMachineArn": Match.prefix(
                            self._deployment.state_machine_arn_prefix(self)
                        ),
                    },
                ),
                dead_letters="UnhandledStatusEvents",
            ),
            access,
        )

    def _watch_mail(self, access: Access) -> None:
        self._watch(
            Watched(
                function="MailEvent",
                handler="events.mail_event.handler",
                rule="MailTold",
                description="What the mail service tells of this deployment's mail",
                pattern=EventPattern(
                    source=["aws.ses"],
                    detail_type=list(MAIL_EVENTS),
                    detail={
                        "mail": {
                            "tags": {"ses:configuration-set": [self._deployment.configuration_set]}
                        }
                    },
                ),
                dead_letters="UnhandledMailEvents",
            ),
            access,
        )

    def _watch(self, watched: Watched, access: Access) -> None:
        """Hand events of one kind to their function; keep what it cannot be handed or handle."""
        dead_letters = Queue(
            self,
            watched.dead_letters,
            encryption=QueueEncryption.SQS_MANAGED,
            enforce_ssl=True,
            retention_period=Duration.days(DEAD_LETTER_DAYS),
        )
        acknowledge(dead_letters, "SQS3", "This queue is itself where undeliverable events end.")
        function = LedgerFunction(
            self,
            watched.function,
            deployment=self._deployment,
            code=door_code(self._deployment, watched.handler.partition(".")[0]),
            handler=watched.handler,
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
            watched.rule,
            description=watched.description,
            event_pattern=watched.pattern,
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
            code=door_code(self._deployment, "reconciler"),
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
