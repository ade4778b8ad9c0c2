"""What brings a run back when its own execution is gone: the status event, and the sweeper."""

from typing import TYPE_CHECKING, Any

from ledger.event import EventKind
from sandbox.clients import aws_client
from sandbox.waiting import wait_for
from tests.e2e.conftest import PATIENCE_SECONDS, Person
from tests.e2e.evidence import assert_refunded_once_and_told_once

if TYPE_CHECKING:
    from mypy_boto3_events import EventBridgeClient

# Longer than the look-up and the new execution take, shorter than the call's own time-out.
HELD_SECONDS = 8


def stop_execution(person: Person, run_id: str) -> None:
    aws_client("stepfunctions", person.sandbox.aws_port).stop_execution(
        executionArn=person.execution_arn(run_id)
    )


def test_an_execution_aborted_while_the_refund_is_in_the_air_gets_a_successor(
    person: Person,
) -> None:
    person.sandbox.stripe.arm(
        {
            "match": {"method": "POST", "path": "/v1/refunds"},
            "fault": "commit_then_hold",
            "seconds": HELD_SECONDS,
        }
    )
    run_id = person.ask()
    person.approve(run_id)
    wait_for(
        lambda: person.sandbox.stripe.requests("POST", "/v1/refunds") or None,
        "the refund request",
        PATIENCE_SECONDS,
    )

    stop_execution(person, run_id)
    person.wait_until_closed(run_id)

    assert_refunded_once_and_told_once(person, run_id)
    assert len(person.sandbox.stripe.requests("POST", "/v1/refunds")) == 1
    [assigned] = [
        event for event in person.events(run_id) if event.kind is EventKind.EXECUTION_ASSIGNED
    ]
    assert assigned.actor.actor_id == "execution-status"


def test_a_decision_whose_bell_nobody_hears_is_carried_out_by_the_sweeper(person: Person) -> None:
    events = aws_client("events", person.sandbox.aws_port)
    run_id = person.ask()
    person.shown_approval(run_id)
    rule = status_rule(events)
    events.disable_rule(Name=rule)
    try:
        stop_execution(person, run_id)
        person.approve(run_id)
        person.wait_until_closed(run_id)
    finally:
        events.enable_rule(Name=rule)

    assert_refunded_once_and_told_once(person, run_id)
    [assigned] = [
        event for event in person.events(run_id) if event.kind is EventKind.EXECUTION_ASSIGNED
    ]
    assert assigned.actor.actor_id == "sweeper"


def test_a_poisoned_message_comes_back_and_stops_none_beside_it(person: Person) -> None:
    """What SQS does with a partial answer is SQS's own; here it is the embedded one's."""
    sqs = aws_client("sqs", person.sandbox.aws_port)
    [queue_url] = sqs.list_queues(QueueNamePrefix="recovery-ledger-recovery-Nominations")[
        "QueueUrls"
    ]
    run_id = person.ask()
    bodies = [run_id, "no run's name!", run_id]
    entries = [{"Id": str(at), "MessageBody": body} for at, body in enumerate(bodies)]
    before = waiting(sqs, queue_url)

    sqs.send_message_batch(QueueUrl=queue_url, Entries=entries)

    wait_for(
        lambda: waiting(sqs, queue_url) == (0, before[1] + 1) or None,
        "the poisoned message, alone and for a later time",
        PATIENCE_SECONDS,
    )


def waiting(sqs: Any, queue_url: str) -> tuple[int, int]:
    """Return how many messages are in a queue, and how many of them are given to somebody."""
    names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
    answer = sqs.get_queue_attributes(QueueUrl=queue_url, AttributeNames=names)
    here, given = (int(answer["Attributes"][name]) for name in names)
    return here, given


def status_rule(events: "EventBridgeClient") -> str:
    [name] = [
        rule["Name"]
        for rule in events.list_rules()["Rules"]
        if "Step Functions Execution Status Change" in rule.get("EventPattern", "")
    ]
    return name
