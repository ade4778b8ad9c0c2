"""What picks up a run that its own execution cannot."""

from typing import Any

import pytest

from providers.ses_events import WORDS
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


WORKER = "reconciler.reconcile_worker.handler"


def source(template: Template) -> dict[str, Any]:
    """Return how the worker is given what the sweeper names."""
    return dict(template.only("AWS::Lambda::EventSourceMapping")["Properties"])


def nominations(template: Template) -> dict[str, Any]:
    """Return the one queue that is no dead-letter queue."""
    (found,) = (
        queue["Properties"]
        for queue in template.resources("AWS::SQS::Queue").values()
        if "RedrivePolicy" in queue["Properties"]
    )
    return dict(found)


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


def test_the_worker_is_given_what_the_sweeper_names(template: Template) -> None:
    given_by = source(template)
    queue = given_by["EventSourceArn"]["Fn::GetAtt"][0]
    environment = template.functions()["reconciler.sweeper.handler"]["Properties"]["Environment"]

    assert template.resources("AWS::SQS::Queue")[queue]["Properties"] == nominations(template)
    assert environment["Variables"]["NOMINATIONS_QUEUE_URL"] == {"Ref": queue}
    worker = template.resources("AWS::Lambda::Function")[given_by["FunctionName"]["Ref"]]
    assert worker["Properties"]["Handler"] == WORKER


def test_one_poisoned_message_stops_no_other(template: Template) -> None:
    assert source(template)["FunctionResponseTypes"] == ["ReportBatchItemFailures"]


def test_few_workers_run_at_once_and_none_is_turned_away(template: Template) -> None:
    worker = template.functions()[WORKER]["Properties"]

    assert source(template)["ScalingConfig"] == {"MaximumConcurrency": 5}
    assert "ReservedConcurrentExecutions" not in worker


def test_no_message_comes_back_while_it_is_worked_on(template: Template) -> None:
    timeout_seconds = template.functions()[WORKER]["Properties"]["Timeout"]

    assert nominations(template)["VisibilityTimeout"] >= 6 * timeout_seconds


def test_a_message_that_stays_poisoned_ends_where_a_person_finds_it(template: Template) -> None:
    queue = nominations(template)
    redrive = queue["RedrivePolicy"]
    dead = template.resources("AWS::SQS::Queue")[redrive["deadLetterTargetArn"]["Fn::GetAtt"][0]]

    assert redrive["maxReceiveCount"] >= 5
    assert dead["Properties"]["MessageRetentionPeriod"] == 14 * 24 * 3600
    # All its receives fit into the time for which it is kept.
    receives_seconds = redrive["maxReceiveCount"] * queue["VisibilityTimeout"]
    assert receives_seconds < queue["MessageRetentionPeriod"]


def test_the_queues_are_encrypted_and_read_over_tls(template: Template) -> None:
    queues = template.resources("AWS::SQS::Queue")
    guarded = {
        policy["Properties"]["Queues"][0]["Ref"]
        for policy in template.resources("AWS::SQS::QueuePolicy").values()
        for found in policy["Properties"]["PolicyDocument"]["Statement"]
        if found["Effect"] == "Deny"
        and found["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}
    }

    assert len(queues) == len(HANDLERS) + 2
    assert guarded == set(queues)
    for queue in queues.values():
        assert queue["Properties"]["SqsManagedSseEnabled"] is True
