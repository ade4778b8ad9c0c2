"""Who is told, by which alarms, and the one page that says at a glance whether all is well."""

from collections.abc import Iterable, Mapping, Sequence

from aws_cdk import ArnFormat, CfnOutput, Duration, RemovalPolicy, Stack
from aws_cdk.aws_cloudwatch import (
    Alarm,
    AlarmStatusWidget,
    Dashboard,
    GraphWidget,
    IMetric,
    IWidget,
    MathExpression,
    SingleValueWidget,
    Stats,
    TextWidget,
)
from aws_cdk.aws_cloudwatch_actions import SnsAction
from aws_cdk.aws_dynamodb import ITable
from aws_cdk.aws_iam import PolicyStatement, ServicePrincipal
from aws_cdk.aws_kms import Key
from aws_cdk.aws_sns import Topic
from aws_cdk.aws_sqs import IQueue
from constructs import Construct

from runtime import metric_names as names
from stacks.alarms import RUNBOOK, Watch, alarms, ours
from stacks.deployment import Deployment

# CloudWatch's grid.
PAGE_WIDTH = 24
CLOUDWATCH = "cloudwatch.amazonaws.com"


class MonitoringStack(Stack):
    """A topic for people, the alarms that speak to it, and the dashboard."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        deployment: Deployment,
        table: ITable,
        nominations: IQueue,
        dead_letters: Mapping[str, IQueue],
    ) -> None:
        """Watch what ``deployment`` says of itself, its table and its queues.

        ``dead_letters`` are by the name of their alarm.
        """
        super().__init__(scope, construct_id, description="Recovery ledger: alarms and dashboard")
        self._namespace = deployment.name
        topic = self._topic()
        watches = list(alarms(self._namespace, table, nominations, dead_letters))
        made = [self._alarm(watch, topic) for watch in watches]
        self._dashboard(deployment.name, made)
        CfnOutput(self, "AlarmTopicArn", value=topic.topic_arn)

    def _topic(self) -> Topic:
        """Return the topic. CloudWatch may not use the key that AWS manages for SNS."""
        key = Key(
            self,
            "AlarmKey",
            description="Encrypts the notifications of alarms",
            enable_key_rotation=True,
            # Notifications only pass through: nothing is kept that it would be needed for.
            removal_policy=RemovalPolicy.DESTROY,
        )
        of_this_account = {
            "ArnLike": {
                "aws:SourceArn": self.format_arn(
                    service="cloudwatch",
                    resource="alarm",
                    resource_name="*",
                    arn_format=ArnFormat.COLON_RESOURCE_NAME,
                )
            },
            "StringEquals": {"aws:SourceAccount": self.account},
        }
        key.add_to_resource_policy(
            PolicyStatement(
                actions=["kms:Decrypt", "kms:GenerateDataKey*"],
                conditions=of_this_account,
                principals=[ServicePrincipal(CLOUDWATCH)],
                resources=["*"],
            )
        )
        topic = Topic(self, "Alarms", enforce_ssl=True, master_key=key)
        # A policy of its own takes the place of the one by which the account may publish.
        topic.add_to_resource_policy(
            PolicyStatement(
                actions=["sns:Publish"],
                conditions=of_this_account,
                principals=[ServicePrincipal(CLOUDWATCH)],
                resources=[topic.topic_arn],
            )
        )
        return topic

    def _alarm(self, watch: Watch, topic: Topic) -> Alarm:
        alarm = Alarm(
            self,
            watch.name,
            alarm_description=watch.description,
            alarm_name=f"{self._namespace}-{watch.name}",
            comparison_operator=watch.comparison,
            datapoints_to_alarm=watch.periods,
            evaluation_periods=watch.periods,
            metric=watch.metric,
            threshold=watch.threshold,
            treat_missing_data=watch.missing,
        )
        alarm.add_alarm_action(SnsAction(topic))
        # That it is over is news as well: who was woken may sleep.
        alarm.add_ok_action(SnsAction(topic))
        return alarm

    def _dashboard(self, name: str, made: Iterable[Alarm]) -> None:
        """Add the page: one glance at the top, then how it goes, then why."""
        dashboard = Dashboard(
            self, "Dashboard", dashboard_name=name, default_interval=Duration.hours(12)
        )
        dashboard.add_widgets(
            AlarmStatusWidget(
                alarms=list(made),
                height=4,
                title=f"Nothing red: all is well. Red: look it up by its name in {RUNBOOK}",
                width=PAGE_WIDTH,
            )
        )
        dashboard.add_widgets(*self._zeroes())
        dashboard.add_widgets(*self._recovery())
        dashboard.add_widgets(*self._causes())

    def _zeroes(self) -> list[IWidget]:
        shown = {
            "Made twice (must be 0)": names.DUPLICATE_EFFECTS,
            "Not in the ledger (must be 0)": names.UNLEDGERED_EFFECTS,
            "Unknown past deadline (must be 0)": names.UNKNOWN_PAST_DEADLINE,
            "Oldest unknown, seconds": names.OLDEST_UNKNOWN_AGE,
        }
        return [
            SingleValueWidget(
                height=4,
                metrics=[ours(self._namespace, metric, Stats.MAXIMUM, 5)],
                title=title,
                width=PAGE_WIDTH // len(shown),
            )
            for title, metric in shown.items()
        ]

    def _recovery(self) -> list[IWidget]:
        times = [
            ours(self._namespace, names.RESTART_TO_RECONCILED, statistic, 5)
            for statistic in (Stats.percentile(50), Stats.percentile(95), Stats.MAXIMUM)
        ]
        attempts = [
            ours(self._namespace, names.RECOVERY_ATTEMPTS, statistic, 5)
            for statistic in (Stats.AVERAGE, Stats.MAXIMUM)
        ]
        people = [
            ours(self._namespace, metric, Stats.SUM, 60)
            for metric in (
                names.REVIEWS_REQUIRED,
                names.MANUAL_INTERVENTIONS,
                names.APPROVALS_OVERDUE,
                names.CONTRADICTED_EFFECTS,
            )
        ]
        return [
            _graph("How long an answer was lost, seconds", times),
            _graph("Recoveries per run that ended", attempts),
            _graph("What people had to do with, per hour", people),
        ]

    def _causes(self) -> list[IWidget]:
        schema = ",".join(
            [self._namespace, names.SERVICE_DIMENSION, *names.PROVIDER_ERRORS.dimensions]
        )
        search = f"SEARCH('{{{schema}}} MetricName=\"{names.PROVIDER_ERRORS.name}\"', 'Sum', 300)"
        errors = MathExpression(expression=search, label="", period=Duration.minutes(5))
        watchers = [
            ours(self._namespace, metric, Stats.SAMPLE_COUNT, 5)
            for metric in (names.RUNS_SWEPT, names.RECORDS_AUDITED, names.RUNS_COUNTED)
        ]
        watchers.append(ours(self._namespace, names.RUNS_BROKEN, Stats.SUM, 5))
        legend = (
            f"**Errors** by provider and class: `unknown` is looked up, `refused` is the "
            f"provider's no, `not_reached` is sent again.\n\n**Watchers**: sweeps, audits and "
            f"censuses in five minutes; 5, 1 and 1 when all is well. Runs that broke: none."
            f"\n\nRunbook: `{RUNBOOK}`."
        )
        return [
            _graph("Errors of providers", [errors]),
            _graph("Watchers at work", watchers),
            TextWidget(height=6, markdown=legend, width=PAGE_WIDTH // 3),
        ]


def _graph(title: str, metrics: Sequence[IMetric]) -> GraphWidget:
    return GraphWidget(height=6, left=list(metrics), title=title, width=PAGE_WIDTH // 3)
