"""One id leads through everything that a run has touched."""

import json
from pathlib import Path
from typing import Any

from sandbox.clients import aws_client
from sandbox.findings import refunds_of
from sandbox.function_logs import save_function_logs
from tests.e2e.conftest import Person
from workflows.registry import REGISTRY


def lines_about(run_id: str, logs: Path) -> list[dict[str, Any]]:
    """Return the structured log lines that name the run."""
    texts = (line.partition("{") for line in logs.read_text(encoding="utf-8").splitlines())
    found = [json.loads(f"{{{rest}") for _, brace, rest in texts if brace and rest.endswith("}")]
    return [
        line
        for line in found
        if line.get("run_id") == run_id or run_id in str(line.get("target", ""))
    ]


def test_a_runs_id_is_in_the_logs_the_execution_and_the_record_at_the_provider(
    person: Person, tmp_path: Path
) -> None:
    run_id = person.ask()
    person.approve(run_id)
    person.wait_until_closed(run_id)
    logs = tmp_path / "functions.log"
    save_function_logs(person.sandbox.aws_port, logs)

    services = {line["service"] for line in lines_about(run_id, logs)}
    execution = person.execution_arn(run_id)
    described = aws_client("stepfunctions", person.sandbox.aws_port).describe_execution(
        executionArn=execution
    )
    [refund] = refunds_of(person.sandbox.stripe.behind_url, person.subscriber.charge_id)
    definition = REGISTRY[person.ledger(run_id).run.workflow]

    stages = {f"{definition.slice_package}.{stage.name}" for stage in definition.stages}
    assert stages | {"api.start_run", "api.decide_approval", "workflows.resume"} <= services
    assert json.loads(described["input"])["run_id"] == run_id
    assert run_id in described["executionArn"]
    assert refund["metadata"]["run_id"] == run_id
