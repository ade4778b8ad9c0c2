"""The table of record outlives mistakes."""

from typing import Any

import pytest

from tests.infrastructure.templates import Assembly


@pytest.fixture
def table(assembly: Assembly) -> dict[str, Any]:
    """The ledger's table."""
    return assembly.template("recovery-ledger-ledger").only("AWS::DynamoDB::Table")


def test_the_table_stays_when_its_stack_is_deleted_or_replaced(table: dict[str, Any]) -> None:
    assert table["DeletionPolicy"] == "Retain"
    assert table["UpdateReplacePolicy"] == "Retain"
    assert table["Properties"]["DeletionProtectionEnabled"] is True


def test_the_table_can_be_restored_to_any_second_of_35_days(table: dict[str, Any]) -> None:
    assert table["Properties"]["PointInTimeRecoverySpecification"] == {
        "PointInTimeRecoveryEnabled": True,
        "RecoveryPeriodInDays": 35,
    }


def test_the_table_is_encrypted_and_paid_by_request(table: dict[str, Any]) -> None:
    assert table["Properties"]["SSESpecification"] == {"SSEEnabled": True}
    assert table["Properties"]["BillingMode"] == "PAY_PER_REQUEST"


def test_a_runs_records_share_a_partition(table: dict[str, Any]) -> None:
    assert table["Properties"]["KeySchema"] == [
        {"AttributeName": "pk", "KeyType": "HASH"},
        {"AttributeName": "sk", "KeyType": "RANGE"},
    ]


def test_an_index_holds_keys_only_so_that_a_candidate_must_be_read(
    table: dict[str, Any],
) -> None:
    assert table["Properties"]["GlobalSecondaryIndexes"] == [
        {
            "IndexName": name,
            "KeySchema": [
                {"AttributeName": partition, "KeyType": "HASH"},
                {"AttributeName": order, "KeyType": "RANGE"},
            ],
            "Projection": {"ProjectionType": "KEYS_ONLY"},
        }
        for name, partition, order in (
            ("due", "due_shard", "due_at_ms"),
            ("review", "review_tenant", "review_since_ms"),
        )
    ]


def test_no_open_run_can_expire(table: dict[str, Any]) -> None:
    assert "TimeToLiveSpecification" not in table["Properties"]
