"""Who is woken by what: every alarm stands on a number that somebody says, and has its entry."""

import ast
import json
import re
from typing import Any

import pytest

from ledger.contract import Listing
from providers.contracts import CONTRACTS
from runtime import metric_names
from runtime.metric_names import METRICS, SERVICE, SERVICE_DIMENSION
from stacks.alarms import OLDEST_UNKNOWN_BUDGET_SECONDS
from tests.infrastructure.conftest import ROOT
from tests.infrastructure.templates import Assembly, Template, actions, text

OURS = "recovery-ledger"
# What AWS itself says, which no code of ours emits.
OF_AWS = {
    "AWS/DynamoDB": {"ReadThrottleEvents", "WriteThrottleEvents"},
    "AWS/Lambda": {"Throttles"},
    "AWS/SQS": {"ApproximateNumberOfMessagesVisible"},
}
MAX_DESCRIPTION_CHARACTERS = 1024  # CloudWatch's limit
MISSING = {
    "DuplicateEffects": "ignore",
    "UnledgeredEffects": "ignore",
    "UnknownPastDeadline": "ignore",
    "OldestUnknownAge": "ignore",
    "SweeperSilent": "breaching",
    "AuditSilent": "breaching",
    "CensusSilent": "breaching",
    "RunsBroken": "notBreaching",
    "WorkersBehind": "notBreaching",
    "UnhandledStatusEvents": "notBreaching",
    "UnhandledMailEvents": "notBreaching",
    "UnhandledRuns": "notBreaching",
    "LedgerReadsThrottled": "notBreaching",
    "LedgerWritesThrottled": "notBreaching",
    "DueIndexThrottled": "notBreaching",
    "ReviewIndexThrottled": "notBreaching",
    "FunctionsThrottled": "notBreaching",
}


@pytest.fixture
def template(assembly: Assembly) -> Template:
    """The monitoring stack."""
    return assembly.template("recovery-ledger-monitoring")


@pytest.fixture
def alarms(template: Template) -> dict[str, dict[str, Any]]:
    """Every alarm by its name, without the deployment's."""
    found = [alarm["Properties"] for alarm in template.resources("AWS::CloudWatch::Alarm").values()]
    return {alarm["AlarmName"].removeprefix(f"{OURS}-"): alarm for alarm in found}


def runbook() -> dict[str, str]:
    """Return the entries of the runbook by their anchors."""
    page = (ROOT / "docs/operations.md").read_text(encoding="utf-8")
    parts = re.split(r"^#+ (.+)$", page, flags=re.MULTILINE)
    entries = zip(parts[1::2], parts[2::2], strict=True)
    return {title.strip().lower(): body for title, body in entries}


def test_what_is_watched_is_all_that_was_thought_through(alarms: dict[str, Any]) -> None:
    assert {name: alarm["TreatMissingData"] for name, alarm in alarms.items()} == MISSING


@pytest.mark.parametrize("name", MISSING)
def test_an_alarm_stands_on_a_metric_that_somebody_emits(
    alarms: dict[str, dict[str, Any]], name: str
) -> None:
    alarm = alarms[name]
    if alarm["Namespace"] != OURS:
        assert alarm["MetricName"] in OF_AWS[alarm["Namespace"]]
        return
    metric = METRICS[alarm["MetricName"]]
    assert metric.dimensions == ()
    assert alarm["Dimensions"] == [{"Name": SERVICE_DIMENSION, "Value": SERVICE}]


def test_every_metric_is_emitted_somewhere() -> None:
    """By the name of its constant: a metric that is only listed would leave its alarm blind."""
    constants = {
        name for name, found in vars(metric_names).items() if isinstance(found, metric_names.Metric)
    }
    emitted = {
        node.id
        for path in (ROOT / "functions").rglob("*.py")
        if path.name != "metric_names.py"
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Name)
    }

    assert len(constants) == len(METRICS)
    assert constants <= emitted


@pytest.mark.parametrize("name", MISSING)
def test_an_alarm_says_what_it_means_what_to_do_first_and_where_the_rest_is(
    alarms: dict[str, dict[str, Any]], name: str
) -> None:
    description = alarms[name]["AlarmDescription"]

    assert " First: " in description
    assert len(description) <= MAX_DESCRIPTION_CHARACTERS
    anchor = description.rpartition(" Runbook: docs/operations.md#")[2]
    assert anchor == name.lower()
    assert anchor in runbook()


@pytest.mark.parametrize("name", MISSING)
def test_an_entry_of_the_runbook_says_what_somebody_needs_at_night(name: str) -> None:
    entry = runbook()[name.lower()]

    for part in ("**Means:**", "**Safe:**", "**Look at:**", "**Do:**", "**Wake:**"):
        assert part in entry, part


@pytest.mark.parametrize("name", MISSING)
def test_an_alarm_tells_the_topic_when_it_begins_and_when_it_is_over(
    template: Template, alarms: dict[str, dict[str, Any]], name: str
) -> None:
    (topic,) = template.resources("AWS::SNS::Topic")

    assert alarms[name]["AlarmActions"] == [{"Ref": topic}]
    assert alarms[name]["OKActions"] == [{"Ref": topic}]
    assert alarms[name].get("ActionsEnabled", True)


@pytest.mark.parametrize("name", [found for found, told in MISSING.items() if told == "breaching"])
def test_silence_is_an_alarm_for_what_is_said_at_every_turn(
    alarms: dict[str, dict[str, Any]], name: str
) -> None:
    alarm = alarms[name]

    assert alarm["Statistic"] == "SampleCount"
    assert (alarm["ComparisonOperator"], alarm["Threshold"]) == ("LessThanThreshold", 1)
    assert alarm["DatapointsToAlarm"] == alarm["EvaluationPeriods"] > 1


def test_one_duplicate_is_enough(alarms: dict[str, dict[str, Any]]) -> None:
    alarm = alarms["DuplicateEffects"]

    assert alarm["MetricName"] == "DuplicateEffects"
    assert (alarm["ComparisonOperator"], alarm["Threshold"]) == ("GreaterThanThreshold", 0)
    assert (alarm["Statistic"], alarm["EvaluationPeriods"]) == ("Maximum", 1)


def test_the_oldest_unknown_is_told_while_a_replay_is_still_protected(
    alarms: dict[str, dict[str, Any]],
) -> None:
    protected = [
        found.key_lifetime_seconds - found.key_margin_seconds - found.key_notice_seconds
        for found in CONTRACTS.values()
        if found.key_lifetime_seconds is not None
    ]
    deadlines = [found.recovery_deadline_seconds for found in CONTRACTS.values()]

    assert alarms["OldestUnknownAge"]["Threshold"] == OLDEST_UNKNOWN_BUDGET_SECONDS
    assert max(deadlines) < OLDEST_UNKNOWN_BUDGET_SECONDS < min(protected) / 2


def test_workers_are_behind_when_their_queue_is_never_empty(
    assembly: Assembly, alarms: dict[str, dict[str, Any]]
) -> None:
    """The lowest sample, over longer than one run that breaks is given back for."""
    (queue,) = [
        found["Properties"]
        for found in assembly.template("recovery-ledger-recovery")
        .resources("AWS::SQS::Queue")
        .values()
        if "RedrivePolicy" in found["Properties"]
    ]
    alarm = alarms["WorkersBehind"]

    assert (alarm["Statistic"], alarm["ComparisonOperator"]) == ("Minimum", "GreaterThanThreshold")
    assert alarm["Period"] * alarm["EvaluationPeriods"] > 2 * queue["VisibilityTimeout"]


def test_every_queue_of_dead_letters_is_watched(
    assembly: Assembly, alarms: dict[str, dict[str, Any]]
) -> None:
    # A queue that hands on to no other is where things end.
    queues = [
        name
        for found in assembly.templates()
        for name, queue in found.resources("AWS::SQS::Queue").items()
        if "RedrivePolicy" not in queue["Properties"]
    ]
    watched = [
        alarm
        for alarm in alarms.values()
        if alarm["Namespace"] == "AWS/SQS" and alarm["Statistic"] == "Maximum"
    ]
    names = {text(alarm["Dimensions"][0]["Value"]) for alarm in watched}

    assert len(names) == len(queues) == len(watched)
    for queue in queues:
        assert any(queue in name for name in names), queue


def test_notifications_are_encrypted_travel_over_tls_and_come_from_alarms_alone(
    template: Template,
) -> None:
    topic = template.only("AWS::SNS::Topic")["Properties"]
    statements = template.only("AWS::SNS::TopicPolicy")["Properties"]["PolicyDocument"]["Statement"]
    refused = [found for found in statements if found["Effect"] == "Deny"]
    allowed = [found for found in statements if found["Effect"] == "Allow"]

    assert "Fn::GetAtt" in topic["KmsMasterKeyId"]
    assert [found["Condition"] for found in refused] == [{"Bool": {"aws:SecureTransport": "false"}}]
    (publish,) = allowed
    assert actions(publish) == {"sns:Publish"}
    assert publish["Principal"] == {"Service": "cloudwatch.amazonaws.com"}
    assert publish["Condition"]["StringEquals"] == {"aws:SourceAccount": {"Ref": "AWS::AccountId"}}


def test_cloudwatch_may_use_the_topics_key(template: Template) -> None:
    """It may not use the key that AWS manages, and would tell nobody, without an error."""
    key = template.only("AWS::KMS::Key")["Properties"]
    (statement,) = [
        found
        for found in key["KeyPolicy"]["Statement"]
        if found["Principal"] == {"Service": "cloudwatch.amazonaws.com"}
    ]

    assert actions(statement) == {"kms:Decrypt", "kms:GenerateDataKey*"}
    assert key["EnableKeyRotation"] is True


def test_the_dashboard_begins_with_all_alarms_and_shows_nothing_that_is_not_measured(
    template: Template, alarms: dict[str, Any]
) -> None:
    body = template.only("AWS::CloudWatch::Dashboard")["Properties"]["DashboardBody"]
    parts = body["Fn::Join"][1] if isinstance(body, dict) else [body]
    page = json.loads("".join(part if isinstance(part, str) else "x" for part in parts))
    first = min(page["widgets"], key=lambda found: (found["y"], found["x"]))
    shown = set(re.findall(rf'"{OURS}", "(\w+)"', json.dumps(page)))

    assert first["type"] == "alarm"
    assert len(first["properties"]["alarms"]) == len(alarms)
    assert shown | {"ProviderErrors"} == set(METRICS)
    assert "ProviderErrors" in json.dumps(page)


def test_the_audit_may_read_the_providers_that_can_be_audited_and_write_nothing(
    assembly: Assembly,
) -> None:
    template = assembly.template("recovery-ledger-audit")
    asked = {found for found in CONTRACTS.values() if found.recent_records is not Listing.NONE}

    assert {found.provider for found in asked} == {"stripe_refunds"}
    for handler in ("reconciler.audit.handler", "reconciler.census.handler"):
        allowed = {
            action
            for statement in template.function_statements(handler)
            for action in actions(statement)
        }
        assert not {found for found in allowed if not re.search(r":(Get|Query)", found)}


def test_both_wake_every_five_minutes_and_end_before_the_next(assembly: Assembly) -> None:
    template = assembly.template("recovery-ledger-audit")
    rules = template.resources("AWS::Events::Rule").values()

    assert {rule["Properties"]["ScheduleExpression"] for rule in rules} == {"rate(5 minutes)"}
    assert len(rules) == 2
    for function in template.functions().values():
        assert function["Properties"]["Timeout"] < 5 * 60


def test_every_function_and_state_machine_leaves_a_trace(assembly: Assembly) -> None:
    for _, handler, function in assembly.each_function():
        assert function["Properties"]["TracingConfig"] == {"Mode": "Active"}, handler
    machines = [
        machine["Properties"]
        for template in assembly.templates()
        for machine in template.resources("AWS::StepFunctions::StateMachine").values()
    ]
    assert machines
    for machine in machines:
        assert machine["TracingConfiguration"] == {"Enabled": True}
