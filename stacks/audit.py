"""What measures from outside of any run: the audit of providers, and the census of the ledger."""

from collections.abc import Mapping

from aws_cdk import Duration, Stack
from aws_cdk.aws_dynamodb import ITable
from aws_cdk.aws_events import Rule, Schedule
from aws_cdk.aws_events_targets import LambdaFunction
from constructs import Construct

from ledger.contract import Listing, ProviderContract
from stacks.access import Access, ask_providers, find_due, join, read_runs
from stacks.code_asset import door_code
from stacks.deployment import Deployment
from stacks.function import LedgerFunction

# How late a duplicate is noticed at worst. Each costs a page or two at the provider.
AUDIT_INTERVAL_MINUTES = 5
# How old the numbers of the census are at worst.
CENSUS_INTERVAL_MINUTES = 5
# Each ends by itself well before the next begins.
AUDIT_TIMEOUT_SECONDS = 120
CENSUS_TIMEOUT_SECONDS = 60


class AuditStack(Stack):
    """Two functions on a schedule. Neither may write anything but its own log."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        deployment: Deployment,
        contracts: Mapping[str, ProviderContract],
        table: ITable,
    ) -> None:
        """Add both, for the providers whose contract says that they can be audited."""
        super().__init__(scope, construct_id, description="Recovery ledger: audit and census")
        self._deployment = deployment
        listed = [found for found in contracts.values() if found.recent_records is not Listing.NONE]
        self._schedule(
            "Audit",
            join(read_runs(table), ask_providers(self, deployment, listed)),
            AUDIT_TIMEOUT_SECONDS,
            AUDIT_INTERVAL_MINUTES,
        )
        self._schedule(
            "Census",
            join(read_runs(table), find_due(table)),
            CENSUS_TIMEOUT_SECONDS,
            CENSUS_INTERVAL_MINUTES,
        )

    def _schedule(
        self, name: str, access: Access, timeout_seconds: int, interval_minutes: int
    ) -> None:
        function = LedgerFunction(
            self,
            name,
            deployment=self._deployment,
            code=door_code(self._deployment, "reconciler"),
            handler=f"reconciler.{name.lower()}.handler",
            timeout_seconds=timeout_seconds,
            access=access,
        )
        # The next one is the retry.
        function.configure_async_invoke(retry_attempts=0)
        Rule(
            self,
            f"{name}Schedule",
            description=f"Wakes the {name.lower()}",
            schedule=Schedule.rate(Duration.minutes(interval_minutes)),
            targets=[LambdaFunction(function, retry_attempts=0)],
        )
