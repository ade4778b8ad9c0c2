"""Where the mail service tells what became of our mail: the default event bus of the account."""

from aws_cdk import Stack
from aws_cdk.aws_ses import CfnConfigurationSet, CfnConfigurationSetEventDestination
from constructs import Construct

from providers.ses_events import MAIL_EVENTS
from stacks.deployment import Deployment


class MailStack(Stack):
    """The configuration set that every mail is sent with."""

    def __init__(self, scope: Construct, construct_id: str, *, deployment: Deployment) -> None:
        """Add the set, unless the deployment names one that exists, and its events."""
        super().__init__(scope, construct_id, description="Recovery ledger: what became of mail")
        destination = CfnConfigurationSetEventDestination(
            self,
            "Events",
            configuration_set_name=deployment.configuration_set,
            event_destination=CfnConfigurationSetEventDestination.EventDestinationProperty(
                enabled=True,
                # SES publishes to the default bus and to no other.
                event_bridge_destination=(
                    CfnConfigurationSetEventDestination.EventBridgeDestinationProperty(
                        event_bus_arn=self.format_arn(
                            service="events", resource="event-bus", resource_name="default"
                        )
                    )
                ),
                matching_event_types=[found.asked_for_as for found in MAIL_EVENTS],
                name=deployment.name,
            ),
        )
        if deployment.mail_configuration_set is None:
            made = CfnConfigurationSet(self, "Receipts", name=deployment.configuration_set)
            destination.add_resource_dependency(made)
