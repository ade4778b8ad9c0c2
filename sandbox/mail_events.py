"""The events of the mail service, handed over as EventBridge does: by the rules that match them."""

import json
import uuid
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from providers.ses_events import MAIL_EVENTS
from sandbox.aws import ACCOUNT, REGION
from sandbox.clients import aws_client

# What comes of a good day, in its order.
_HAPPY = ("send", "delivery")
_DETAIL_TYPES = {found.asked_for_as: found.detail_type for found in MAIL_EVENTS}


class MailEvents:
    """What SES would publish about a mail, for rules of the embedded AWS.

    The emulator keeps configuration sets and their destinations, and publishes nothing. Nobody but
    AWS may put events of the source `aws.ses` on a bus, so each goes straight to what a rule names.
    """

    def __init__(self, aws_port: int) -> None:
        self._ses = aws_client("sesv2", aws_port)
        self._events = aws_client("events", aws_port)
        self._functions = aws_client("lambda", aws_port)

    def publish(self, message_id: str, request: Mapping[str, Any]) -> None:
        """Hands over that a mail was sent, and then that it arrived."""
        configuration_set = str(request.get("ConfigurationSetName", ""))
        wanted = self._wanted(configuration_set)
        for name in _HAPPY:
            if name.upper() in wanted:  # as the API answers it
                self._hand_over(_event(_DETAIL_TYPES[name], name.capitalize(), message_id, request))

    def _wanted(self, configuration_set: str) -> set[str]:
        """The event types that the set sends to EventBridge."""
        if not configuration_set:
            return set()
        answer = self._ses.get_configuration_set_event_destinations(
            ConfigurationSetName=configuration_set
        )
        return {
            str(kind)
            for destination in answer["EventDestinations"]
            if destination.get("Enabled") and "EventBridgeDestination" in destination
            for kind in destination["MatchingEventTypes"]
        }

    def _hand_over(self, event: dict[str, Any]) -> None:
        text = json.dumps(event)
        for rule in self._events.list_rules()["Rules"]:
            pattern = rule.get("EventPattern")
            if pattern is None or rule.get("State") != "ENABLED":
                continue
            if not self._events.test_event_pattern(EventPattern=pattern, Event=text)["Result"]:
                continue
            for target in self._events.list_targets_by_rule(Rule=rule["Name"])["Targets"]:
                self._functions.invoke(
                    FunctionName=target["Arn"], InvocationType="Event", Payload=text.encode()
                )


def _event(
    detail_type: str, word: str, message_id: str, request: Mapping[str, Any]
) -> dict[str, Any]:
    now = datetime.now(UTC).isoformat(timespec="milliseconds")
    to = request["Destination"]["ToAddresses"]
    tags = {tag["Name"]: [tag["Value"]] for tag in request.get("EmailTags", [])}
    mail = {
        "timestamp": now,
        "source": request["FromEmailAddress"],
        "sendingAccountId": ACCOUNT,
        "messageId": message_id,
        "destination": to,
        "headersTruncated": False,
        "commonHeaders": {"from": [request["FromEmailAddress"]], "to": to},
        "tags": {"ses:configuration-set": [request["ConfigurationSetName"]], **tags},
    }
    return {
        "version": "0",
        "id": str(uuid.uuid4()),
        "detail-type": detail_type,
        "source": "aws.ses",
        "account": ACCOUNT,
        "time": now,
        "region": REGION,
        "resources": [],
        "detail": {"eventType": word, "mail": mail, word.lower(): {}},
    }
