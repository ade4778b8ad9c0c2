"""What picks up a run that its own execution cannot."""

from typing import Any

import pytest

from events.mail_event import WORDS
from tests.infrastructure.templates import Assembly, Template, text


@pytest.fixture
def template(assembly: Assembly) -> Template:
    """The recovery stack."""
    return assembly.template("recovery-ledger-recovery")


EXECUTIONS, MAIL = "aws.states", "aws.ses"
HANDLERS = {
    EXECUTIONS: "reconciler.execution_status.handler",
    MAIL: "events.mail_event.handler",
}


def schedule(template: Template) -> dict[str, Any]:
    """Return the one rule that has a schedule."""
    (found,) = (
        resource["Properties"]
        for resource in template.resources("AWS::Events::Rule").values()
        if "ScheduleExpression" in resource["Properties"]
    )
    return dict(found)


def watch(template: Template, source: str) -> dict[str, Any]:
    """Return the one rule for the events of a service."""
    (found,) = (
        resource["Properties"]
        for resource in template.resources("AWS::Events::Rule").values()
        if resource["Properties"].get("EventPattern", {}).get("source") == [source]
    )
    return dict(found)


def target_handler(template: Template, rule: dict[str, Any]) -> str:
    """Return the handler of a rule's one target."""
    (target,) = rule["Targets"]
    function = template.resources("AWS::Lambda::Function")[target["Arn"]["Fn::GetAtt"][0]]
    return str(function["Properties"]["Handler"])


def test_every_end_without_success_of_our_machines_is_seen(template: Template) -> None:
    pattern = watch(template, EXECUTIONS)["EventPattern"]

    assert pattern["detail-type"] == ["Step Functions Execution Status Change"]
    assert set(pattern["detail"]["status"]) == {"FAILED", "TIMED_OUT", "ABORTED"}
    (machines,) = pattern["detail"]["stateMachineArn"]
    assert text(machines["prefix"]).endswith(":stateMachine:recovery-ledger-")


def test_every_event_about_mail_of_ours_is_seen(template: Template) -> None:
    pattern = watch(template, MAIL)["EventPattern"]

    assert set(pattern["detail-type"]) == set(WORDS)
    assert pattern["detail"] == {
        "mail": {"tags": {"ses:configuration-set": ["recovery-ledger-receipts"]}}
    }


@pytest.mark.parametrize("source", HANDLERS)
def test_an_event_reaches_its_handler(template: Template, source: str) -> None:
    assert target_handler(template, watch(template, source)) == HANDLERS[source]


def test_the_sweeper_wakes_every_minute(template: Template) -> None:
    every_minute = schedule(template)

    assert every_minute["ScheduleExpression"] == "rate(1 minute)"
    assert target_handler(template, every_minute) == "reconciler.sweeper.handler"


def test_sweeps_end_before_the_next_begins(template: Template) -> None:
    assert template.functions()["reconciler.sweeper.handler"]["Properties"]["Timeout"] < 60


@pytest.mark.parametrize("source", HANDLERS)
def test_an_event_that_is_not_delivered_or_not_handled_is_kept(
    template: Template, source: str
) -> None:
    (target,) = watch(template, source)["Targets"]
    (invoke,) = (
        found["Properties"]
        for found in template.resources("AWS::Lambda::EventInvokeConfig").values()
        if found["Properties"]["FunctionName"]["Ref"] == target["Arn"]["Fn::GetAtt"][0]
    )
    undelivered = target["DeadLetterConfig"]["Arn"]["Fn::GetAtt"][0]

    assert undelivered in template.resources("AWS::SQS::Queue")
    assert invoke["DestinationConfig"]["OnFailure"]["Destination"] == {
        "Fn::GetAtt": [undelivered, "Arn"]
    }


@pytest.mark.parametrize("source", HANDLERS)
def test_an_event_is_tried_a_bounded_number_of_times(template: Template, source: str) -> None:
    (target,) = watch(template, source)["Targets"]

    assert target["RetryPolicy"] == {
        "MaximumEventAgeInSeconds": 3600,
        "MaximumRetryAttempts": 2,
    }


def test_no_two_kinds_of_events_end_in_one_queue(template: Template) -> None:
    queues = [
        watch(template, source)["Targets"][0]["DeadLetterConfig"]["Arn"]["Fn::GetAtt"][0]
        for source in HANDLERS
    ]

    assert len(set(queues)) == len(HANDLERS)


def test_the_kept_events_are_encrypted_and_read_over_tls(template: Template) -> None:
    queues = template.resources("AWS::SQS::Queue")
    guarded = {
        policy["Properties"]["Queues"][0]["Ref"]
        for policy in template.resources("AWS::SQS::QueuePolicy").values()
        for found in policy["Properties"]["PolicyDocument"]["Statement"]
        if found["Effect"] == "Deny"
        and found["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}
    }

    assert len(queues) == len(HANDLERS)
    assert guarded == set(queues)
    for queue in queues.values():
        assert queue["Properties"]["SqsManagedSseEnabled"] is True
