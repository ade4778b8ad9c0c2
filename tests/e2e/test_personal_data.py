"""What is personal stays in its one place, also when the system is looked at from outside."""

from pathlib import Path

from sandbox.clients import aws_client
from sandbox.function_logs import save_function_logs
from tests.e2e.conftest import Person


def test_an_address_is_in_no_log_no_execution_and_no_item_but_the_erasable_one(
    person: Person, tmp_path: Path
) -> None:
    run_id = person.ask()
    person.approve(run_id)
    person.wait_until_closed(run_id)
    port = person.sandbox.aws_port

    table = person.sandbox.outputs.ledger_table
    items = [
        item
        for page in aws_client("dynamodb", port).get_paginator("scan").paginate(TableName=table)
        for item in page["Items"]
        if run_id in str(item["pk"])
    ]
    holding = [item["sk"]["S"] for item in items if person.email in str(item)]
    execution = person.execution_arn(run_id)
    history = aws_client("stepfunctions", port).get_execution_history(executionArn=execution)

    logs = tmp_path / "functions.log"
    save_function_logs(port, logs)

    assert holding == ["PERSONAL"]
    assert run_id in logs.read_text(encoding="utf-8")
    assert person.email not in logs.read_text(encoding="utf-8")
    assert person.email not in str(history)
    assert run_id in str(history)
