"""What picks a run up when its own execution cannot: events of others, and the sweeper."""

from collections.abc import Mapping
from typing import NamedTuple

from aws_cdk import Duration, Stack
from aws_cdk.aws_dynamodb import ITable
from aws_cdk.aws_events import EventPattern, Match, Rule, Schedule
from aws_cdk.aws_events_targets import LambdaFunction
from aws_cdk.aws_lambda import EventSourceMapping
from aws_cdk.aws_lambda_destinations import SqsDestination
from aws_cdk.aws_sqs import DeadLetterQueue, IQueue, Queue, QueueEncryption
from constructs import Construct

from ledger.contract import ProviderContract
from providers.ses_events import MAIL_EVENTS
from stacks.access import (
    Access,
    ask_providers,
    change_runs,
    find_due,
    join,
    name_runs,
    ring_doorbells,
    start_executions,
    take_from,
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
# A worker begins no run with less than 15 s left, so this is some twenty quiet runs, or three that
# each wait out a provider.
WORKER_TIMEOUT_SECONDS = 60
WORKER_BATCH_SIZE = 10
# Reads at a provider by all of recovery together: of Stripe's 100 a second, workers that are never
# idle take five to ten. Set on the event source and not as reserved concurrency, which would turn
# surplus batches away from the function, and a message that is turned away often enough is taken
# for poisoned; it would also take these five from the account's other functions. At least 2.
WORKERS_AT_ONCE = 5
# AWS asks for six times the function's time, so that no message comes back while it is worked on.
VISIBILITY_SECONDS = 6 * WORKER_TIMEOUT_SECONDS
# AWS asks for five at least: a message also comes back when the worker beside it is killed.
MAX_RECEIVES = 5
# Longer than the receives of a poisoned message take, half an hour, or it would end unseen. What is
# older names a run that was named again since.
NOMINATION_HOURS = 1
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
        self.dead_letters: dict[str, IQueue] = {}
        """What waits for a person, by the name of the queue."""

        restart = join(change_runs(table), start_executions(self, deployment))
        self._watch_executions(restart)
        self._watch_mail(restart)
        self.nominations: IQueue = self._nominations()
        """The runs that are due, for the workers."""

        self._sweep(join(find_due(table), name_runs(self.nominations)))
        self._work(
            join(
                restart,
                take_from(self.nominations),
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
                    detail_type=[found.detail_type for found in MAIL_EVENTS],
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
        dead_letters = self._dead_letters(watched.dead_letters)
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

    def _dead_letters(self, name: str) -> Queue:
        """Return a queue for what waits for a person, which has an alarm of its own."""
        queue = Queue(
            self,
            name,
            encryption=QueueEncryption.SQS_MANAGED,
            enforce_ssl=True,
            retention_period=Duration.days(DEAD_LETTER_DAYS),
        )
        self.dead_letters[name] = queue
        return queue

    def _nominations(self) -> Queue:
        return Queue(
            self,
            "Nominations",
            dead_letter_queue=DeadLetterQueue(
                max_receive_count=MAX_RECEIVES, queue=self._dead_letters("UnhandledRuns")
            ),
            encryption=QueueEncryption.SQS_MANAGED,
            enforce_ssl=True,
            retention_period=Duration.hours(NOMINATION_HOURS),
            visibility_timeout=Duration.seconds(VISIBILITY_SECONDS),
        )

    def _work(self, access: Access) -> None:
        """Hand what the sweeper names to workers, a few at once."""
        function = LedgerFunction(
            self,
            "ReconcileWorker",
            deployment=self._deployment,
            code=door_code(self._deployment, "reconciler"),
            handler="reconciler.reconcile_worker.handler",
            timeout_seconds=WORKER_TIMEOUT_SECONDS,
            access=access,
        )
        # By itself and not by the function: the library would grant more than Lambda needs.
        EventSourceMapping(
            self,
            "NominationsToWorkers",
            batch_size=WORKER_BATCH_SIZE,
            event_source_arn=self.nominations.queue_arn,
            max_concurrency=WORKERS_AT_ONCE,
            report_batch_item_failures=True,
            target=function,
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
