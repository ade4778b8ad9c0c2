"""The look at the open runs before a deploy, over both stores, and as the command that is run."""

import json
import re

import boto3
import pytest
from moto import mock_aws

from adapters.dynamodb_store import DynamoDbStore
from ledger.store import LedgerStore
from ledger.transitions import RunState
from reconciler import drift_command
from reconciler.drift import END_OF_TIME_MS, PAGE_SIZE_RUNS, Standing, find_drift
from reconciler.drift_command import COULD_NOT_LOOK, MAY_DEPLOY, WOULD_STRAND, main
from tests.builders import NOW_MS, a_change, a_run, personal_fields
from tests.ledger_table import TABLE_NAME, ledger_table
from workflows.migrations import VERSIONS
from workflows.registry import REGISTRY

REQUEST = {
    "customer_id": "cus_1",
    "subscription_id": "sub_1",
    "charge_id": "ch_1",
    "amount_minor": 7900,
    "currency": "USD",
}
YEAR_MS = 365 * 24 * 3600 * 1000


def put(store: LedgerStore, run_id: str, workflow: str = "cancel-refund@4", **head: object) -> None:
    """Write an open run with a customer whose name must not be told."""
    run = a_run(**{"run_id": run_id, "workflow": workflow, "request": REQUEST, **head})
    personal = personal_fields(run_id=run_id)
    store.commit(a_change(f"commit-{run_id}", run=run, personal=personal))


def test_every_open_run_is_found_however_late_it_is_due(store: LedgerStore) -> None:
    for number in range(PAGE_SIZE_RUNS + 20):
        put(store, f"run-{number}", due_at_ms=NOW_MS + number * YEAR_MS)
    put(store, "run-last", due_at_ms=END_OF_TIME_MS)
    put(store, "run-older", "cancel-refund@3", due_at_ms=NOW_MS - YEAR_MS)
    put(store, "run-gone", "cancel-refund@1")
    put(store, "run-ended", state=RunState.COMPLETED, due_at_ms=NOW_MS)
    put(store, "run-closed", state=RunState.CLOSED, due_at_ms=None)

    drift = find_drift(store, VERSIONS)

    assert drift.complete
    assert drift.counts() == {
        "cancel-refund@1": {Standing.STUCK: 1},
        "cancel-refund@3": {Standing.COMPATIBLE: 1},
        "cancel-refund@4": {Standing.COMPATIBLE: PAGE_SIZE_RUNS + 21},
    }
    assert {"run-ended", "run-closed"}.isdisjoint(found.run_id for found in drift.runs)


def test_a_bounded_look_says_that_it_is_not_whole(store: LedgerStore) -> None:
    for number in range(5):
        put(store, f"run-{number}")

    assert not find_drift(store, VERSIONS, max_runs=4).complete
    assert find_drift(store, VERSIONS, max_runs=5).complete


def told(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    """Return the exit status of the command and what it wrote to the screen."""
    status = main(arguments)
    return status, capsys.readouterr().out


def a_deployment(name: str = "recovery-ledger", output: str = "LedgerTableName") -> None:
    """Let a stack of that deployment be there, naming the table."""
    boto3.client("cloudformation").create_stack(
        StackName=f"{name}-ledger",
        TemplateBody=json.dumps(
            {
                "Resources": {"Topic": {"Type": "AWS::SNS::Topic"}},
                "Outputs": {output: {"Value": TABLE_NAME}},
            }
        ),
    )


class TestCommand:
    def test_before_the_first_deploy_nothing_is_open(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        with ledger_table():
            status, shown = told(capsys)

        assert status == MAY_DEPLOY
        assert "Nothing is deployed yet" in shown

    def test_runs_that_can_go_on_let_the_deploy_happen(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        with ledger_table() as client:
            a_deployment()
            store = DynamoDbStore(client, TABLE_NAME, lambda _: None, lambda: 0.0)
            put(store, "run-1")
            status, shown = told(capsys)

        assert status == MAY_DEPLOY
        assert "1 open runs in ledger, eu-central-1." in shown
        assert "Every open run can go on." in shown

    def test_a_run_that_would_be_stuck_refuses_the_deploy_with_the_reason(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        with ledger_table() as client:
            store = DynamoDbStore(client, TABLE_NAME, lambda _: None, lambda: 0.0)
            put(store, "run-1")
            put(store, "run-2", "cancel-refund@1")
            status, shown = told(capsys, "--table", TABLE_NAME)
            again, listed = told(capsys, "--table", TABLE_NAME, "--json")

        assert status == again == WOULD_STRAND
        assert "1 would stop for a person" in shown
        first = json.loads(listed)["runs"][0]
        assert (first["run_id"], first["standing"]) == ("run-2", "stuck")
        assert "no migration leads" in first["reason"]

    def test_a_version_that_is_taken_away_with_open_runs_is_told_as_what_it_is(
        self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        # Given open runs of version 3 and code in which only version 4 is left.
        left = {"cancel-refund@4": REGISTRY["cancel-refund@4"]}
        for migrations, expected in ((VERSIONS.migrations, MAY_DEPLOY), ((), WOULD_STRAND)):
            versions = type(VERSIONS)(left, migrations)
            monkeypatch.setattr(drift_command, "VERSIONS", versions)
            with ledger_table() as client:
                store = DynamoDbStore(client, TABLE_NAME, lambda _: None, lambda: 0.0)
                put(store, "run-1", "cancel-refund@3")

                # When somebody is about to deploy it, with a migration and without.
                status, listed = told(capsys, "--table", TABLE_NAME, "--json")

            # Then the run is moved by the one, and stuck without.
            assert status == expected
            (run,) = json.loads(listed)["runs"]
            assert run["standing"] == ("migratable" if migrations else "stuck")

    def test_nothing_personal_is_told(self, capsys: pytest.CaptureFixture[str]) -> None:
        with ledger_table() as client:
            store = DynamoDbStore(client, TABLE_NAME, lambda _: None, lambda: 0.0)
            put(store, "run-1", "cancel-refund@1")
            _, shown = told(capsys, "--table", TABLE_NAME)
            _, listed = told(capsys, "--table", TABLE_NAME, "--json")

        assert not re.search(r"ada|example\.com|cus_1|ch_1", shown + listed, re.IGNORECASE)

    @pytest.mark.parametrize(
        "arguments", [["--table", "no-such-table"], ["--deployment", "odd"]], ids=str
    )
    def test_what_could_not_be_looked_at_is_not_taken_for_nothing(
        self, arguments: list[str], capsys: pytest.CaptureFixture[str]
    ) -> None:
        with ledger_table():
            a_deployment("odd", output="Another")
            status = main(arguments)

        said = capsys.readouterr()
        assert status == COULD_NOT_LOOK
        assert said.out == ""
        assert "nothing is known" in said.err

    def test_without_an_account_nothing_is_known(
        self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for name in ("AWS_DEFAULT_REGION", "AWS_REGION"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("AWS_CONFIG_FILE", "/dev/null")
        with mock_aws():
            status = main([])

        assert status == COULD_NOT_LOOK
        assert "nothing is known" in capsys.readouterr().err
