"""The ledger itself: the one stateful stack, which outlives every other."""

from aws_cdk import CfnOutput, RemovalPolicy, Stack
from aws_cdk.aws_dynamodb import (
    Attribute,
    AttributeType,
    BillingMode,
    PointInTimeRecoverySpecification,
    ProjectionType,
    Table,
    TableEncryption,
)
from constructs import Construct

from stacks.access import DUE_INDEX, REVIEW_INDEX

# The longest that DynamoDB offers: a fault in our own writes may be noticed late.
RECOVERY_PERIOD_DAYS = 35


class LedgerStack(Stack):
    """The table of runs, effects, approvals and events."""

    def __init__(self, scope: Construct, construct_id: str) -> None:
        """Add the table, which no deletion of the stack takes along."""
        super().__init__(scope, construct_id, description="Recovery ledger: the table of record")
        self.table = Table(
            self,
            "Ledger",
            billing_mode=BillingMode.PAY_PER_REQUEST,
            deletion_protection=True,
            encryption=TableEncryption.AWS_MANAGED,
            partition_key=Attribute(name="pk", type=AttributeType.STRING),
            point_in_time_recovery_specification=PointInTimeRecoverySpecification(
                point_in_time_recovery_enabled=True,
                recovery_period_in_days=RECOVERY_PERIOD_DAYS,
            ),
            removal_policy=RemovalPolicy.RETAIN,
            sort_key=Attribute(name="sk", type=AttributeType.STRING),
        )
        # Keys only: an entry nominates a run, which is then read consistently from the table.
        self.table.add_global_secondary_index(
            index_name=DUE_INDEX,
            partition_key=Attribute(name="due_shard", type=AttributeType.STRING),
            projection_type=ProjectionType.KEYS_ONLY,
            sort_key=Attribute(name="due_at_ms", type=AttributeType.NUMBER),
        )
        # Sparse: an entry is written when a run goes to review or leaves it, and at no other time,
        # so one partition for each tenant is far below its 1,000 writes a second.
        self.table.add_global_secondary_index(
            index_name=REVIEW_INDEX,
            partition_key=Attribute(name="review_tenant", type=AttributeType.STRING),
            projection_type=ProjectionType.KEYS_ONLY,
            sort_key=Attribute(name="review_since_ms", type=AttributeType.NUMBER),
        )
        CfnOutput(self, "LedgerTableName", value=self.table.table_name)
