"""What picks up a run that its own execution cannot."""

from typing import Any

import pytest

from tests.infrastructure.templates import Assembly, Template, text


@pytest.fixture
def template(assembly: Assembly) -> Template:
    """The recovery stack."""
    return assembly.template("recovery-ledger-recovery")


def rule(template: Template, key: str) -> dict[str, Any]:
    """Return the one rule that has the property ``key``."""
    (found,) = (
        resource["Properties"]
        for resource in template.resources("AWS::Events::Rule").values()
        if key in resource["Properties"]
    )
    return dict(found)


def target_handler(template: Template, rule: dict[str, Any]) -> str:
    """Return the handler of a rule's one target."""
    (target,) = rule["Targets"]
    function = template.resources("AWS::Lambda::Function")[target["Arn"]["Fn::GetAtt"][0]]
    return str(function["Properties"]["Handler"])


def test_every_end_without_success_of_our_machines_is_seen(template: Template) -> None:
    pattern = rule(template, "EventPattern")["EventPattern"]

    assert pattern["source"] == ["aws.states"]
    assert pattern["detail-type"] == ["Step Functions Execution Status Change"]
    assert set(pattern["detail"]["status"]) == {"FAILED", "TIMED_OUT", "ABORTED"}
    (machines,) = pattern["detail"]["stateMachineArn"]
    assert text(machines["prefix"]).endswith(":stateMachine:recovery-ledger-")


def test_the_status_event_reaches_its_handler(template: Template) -> None:
    watch = rule(template, "EventPattern")

    assert target_handler(template, watch) == "reconciler.execution_status.handler"


def test_the_sweeper_wakes_every_minute(template: Template) -> None:
    schedule = rule(template, "ScheduleExpression")

    assert schedule["ScheduleExpression"] == "rate(1 minute)"
    assert target_handler(template, schedule) == "reconciler.sweeper.handler"


def test_sweeps_end_before_the_next_begins(template: Template) -> None:
    assert template.functions()["reconciler.sweeper.handler"]["Properties"]["Timeout"] < 60


def test_an_event_that_is_not_delivered_or_not_handled_is_kept(template: Template) -> None:
    (queue,) = template.resources("AWS::SQS::Queue")
    arn = {"Fn::GetAtt": [queue, "Arn"]}
    (target,) = rule(template, "EventPattern")["Targets"]
    kept = [
        found["Properties"]["DestinationConfig"]["OnFailure"]["Destination"]
        for found in template.resources("AWS::Lambda::EventInvokeConfig").values()
        if "DestinationConfig" in found["Properties"]
    ]

    assert target["DeadLetterConfig"]["Arn"] == arn
    assert kept == [arn]


def test_the_kept_events_are_encrypted_and_read_over_tls(template: Template) -> None:
    queue = template.only("AWS::SQS::Queue")["Properties"]
    statements = template.only("AWS::SQS::QueuePolicy")["Properties"]["PolicyDocument"]["Statement"]

    assert queue["SqsManagedSseEnabled"] is True
    assert any(
        found["Effect"] == "Deny"
        and found["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}
        for found in statements
    )
