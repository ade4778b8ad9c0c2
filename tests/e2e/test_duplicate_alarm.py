"""The first alarm, for real: a second refund is made behind the ledger's back; people are told."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from sandbox.clients import aws_client
from sandbox.environment import Sandbox
from sandbox.stripe_seed import REFUND_AMOUNT_MINOR
from sandbox.waiting import wait_for
from tests.e2e.conftest import PATIENCE_SECONDS, Person

ALARM = "recovery-ledger-DuplicateEffects"
CHARGED_MINOR = 10_000


@pytest.fixture
def queue_url(sandbox: Sandbox) -> Iterator[str]:
    """Yield a queue that is told of every alarm, as a pager would be."""
    sqs = aws_client("sqs", sandbox.aws_port)
    url = str(sqs.create_queue(QueueName="told-of-alarms")["QueueUrl"])
    arn = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]
    aws_client("sns", sandbox.aws_port).subscribe(
        TopicArn=sandbox.outputs.alarm_topic_arn, Protocol="sqs", Endpoint=arn["QueueArn"]
    )
    yield url
    sqs.delete_queue(QueueUrl=url)


def audit(sandbox: Sandbox) -> dict[str, Any]:
    """Run the audit now, as its schedule would, and return what it came to."""
    functions = aws_client("lambda", sandbox.aws_port)
    (name,) = [
        found["FunctionName"]
        for page in functions.get_paginator("list_functions").paginate()
        for found in page["Functions"]
        if found.get("Handler") == "reconciler.audit.handler"
    ]
    answer = functions.invoke(FunctionName=name, Payload=b"{}")
    content: dict[str, Any] = json.loads(answer["Payload"].read())
    assert not answer.get("FunctionError"), content
    return content


def wait_for_state(sandbox: Sandbox, state: str) -> None:
    cloudwatch = aws_client("cloudwatch", sandbox.aws_port)

    def look() -> bool | None:
        (alarm,) = cloudwatch.describe_alarms(AlarmNames=[ALARM])["MetricAlarms"]
        return alarm["StateValue"] == state or None

    wait_for(look, f"the alarm's state {state}", PATIENCE_SECONDS)


def notifications(sandbox: Sandbox, queue_url: str) -> Iterator[dict[str, Any]]:
    """Yield what has arrived in the queue."""
    sqs = aws_client("sqs", sandbox.aws_port)
    for message in sqs.receive_message(QueueUrl=queue_url, MaxNumberOfMessages=10).get(
        "Messages", []
    ):
        yield json.loads(json.loads(message["Body"])["Message"])


def test_a_second_refund_behind_the_ledgers_back_rings_the_alarm(
    person: Person, queue_url: str
) -> None:
    run_id = person.ask()
    person.approve(run_id)
    person.wait_until_closed(run_id)
    refund = person.ledger(run_id).newest_effect("refund")
    assert refund is not None
    before = audit(person.sandbox)
    assert (before["duplicates"], before["complete"]) == (0, True)
    assert before["records"] >= 1
    wait_for_state(person.sandbox, "OK")

    person.sandbox.stripe.change_at_dashboard(
        "refunds",
        {
            "charge": person.subscriber.charge_id,
            "amount": CHARGED_MINOR - REFUND_AMOUNT_MINOR,
            "metadata[effect_id]": refund.effect_id,
            "metadata[run_id]": run_id,
        },
    )
    after = audit(person.sandbox)

    assert after["duplicates"] == 1
    wait_for_state(person.sandbox, "ALARM")

    def told() -> dict[str, Any] | None:
        return next(
            (
                found
                for found in notifications(person.sandbox, queue_url)
                if (found["AlarmName"], found["NewStateValue"]) == (ALARM, "ALARM")
            ),
            None,
        )

    notification = wait_for(told, "the notification", PATIENCE_SECONDS)
    assert "docs/operations.md#duplicateeffects" in notification["AlarmDescription"]
