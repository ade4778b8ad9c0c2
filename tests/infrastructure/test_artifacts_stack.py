"""Where archives are kept: closed to the public, never replaced, gone after their time."""

import json
from typing import Any

import pytest

from ledger.contract import Need
from providers.contracts import CONTRACTS
from providers.s3_promises import ARTIFACTS_PREFIX, CONTRACT, RETENTION_DAYS
from stacks.function import MEMORY_MIB
from tests.infrastructure.templates import Assembly, Template, actions, arns, text
from workflows.registry import REGISTRY

STACK = "recovery-ledger-artifacts"
NAME = "recovery-ledger-artifacts-<AWS::AccountId>-<AWS::Region>"
BUCKET = f"arn:<AWS::Partition>:s3:::{NAME}"
PROJECTS = "arn:<AWS::Partition>:s3:::recovery-ledger-projects"
EXPORT = "recovery-ledger-project-export-v1"
SLICE = "workflows.project_export.v1"


@pytest.fixture
def template(assembly: Assembly) -> Template:
    """The stack of archives."""
    return assembly.template(STACK)


@pytest.fixture
def bucket(template: Template) -> dict[str, Any]:
    """The bucket's properties."""
    properties: dict[str, Any] = template.only("AWS::S3::Bucket")["Properties"]
    return properties


def denied(template: Template) -> list[dict[str, Any]]:
    """Return what the bucket's own policy denies to everybody."""
    policy = template.only("AWS::S3::BucketPolicy")["Properties"]["PolicyDocument"]
    return [found for found in policy["Statement"] if found["Effect"] == "Deny"]


def test_nothing_of_the_bucket_is_open_to_the_public(bucket: dict[str, Any]) -> None:
    assert bucket["PublicAccessBlockConfiguration"] == {
        "BlockPublicAcls": True,
        "BlockPublicPolicy": True,
        "IgnorePublicAcls": True,
        "RestrictPublicBuckets": True,
    }
    (owned,) = bucket["OwnershipControls"]["Rules"]
    assert owned == {"ObjectOwnership": "BucketOwnerEnforced"}


def test_archives_are_encrypted_where_they_lie_and_on_their_way(
    template: Template, bucket: dict[str, Any]
) -> None:
    (rule,) = bucket["BucketEncryption"]["ServerSideEncryptionConfiguration"]
    (in_the_clear,) = (found for found in denied(template) if found["Action"] == "s3:*")

    assert rule["ServerSideEncryptionByDefault"] == {"SSEAlgorithm": "AES256"}
    assert in_the_clear["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}
    assert len(in_the_clear["Resource"]) == 2  # the bucket and its objects


def test_an_archive_goes_when_its_time_is_over_and_an_abandoned_upload_the_day_after(
    bucket: dict[str, Any],
) -> None:
    rules = bucket["LifecycleConfiguration"]["Rules"]
    (kept,) = (found for found in rules if "ExpirationInDays" in found)
    (abandoned,) = (found for found in rules if "AbortIncompleteMultipartUpload" in found)

    assert kept["ExpirationInDays"] == RETENTION_DAYS
    assert kept["Prefix"] == ARTIFACTS_PREFIX
    assert abandoned["AbortIncompleteMultipartUpload"] == {"DaysAfterInitiation": 1}
    assert "Prefix" not in abandoned
    assert {found["Status"] for found in rules} == {"Enabled"}


def test_nobody_may_store_an_object_where_there_is_one(template: Template) -> None:
    (replacing,) = (found for found in denied(template) if found["Action"] == "s3:PutObject")

    assert replacing["Principal"] == {"AWS": "*"}
    assert replacing["Condition"] == {
        "Bool": {"s3:ObjectCreationOperation": "true"},
        "Null": {"s3:if-none-match": "true"},
    }


def test_the_bucket_outlives_its_stack(template: Template) -> None:
    assert template.only("AWS::S3::Bucket")["DeletionPolicy"] == "Retain"


def test_functions_are_told_the_name_that_the_bucket_has(
    assembly: Assembly, bucket: dict[str, Any]
) -> None:
    told = {
        text(function["Properties"]["Environment"]["Variables"]["ARTIFACTS_BUCKET"])
        for _, _, function in assembly.each_function()
        if "ARTIFACTS_BUCKET" in function["Properties"]["Environment"]["Variables"]
    }

    assert text(bucket["BucketName"]) == NAME
    assert told == {NAME}


@pytest.mark.parametrize("setting", ["ARTIFACTS_BUCKET", "PROJECTS_BUCKET"])
def test_a_bucket_is_named_only_to_those_who_may_look_at_archives(
    assembly: Assembly, setting: str
) -> None:
    for template, handler, function in assembly.each_function():
        told = setting in function["Properties"]["Environment"]["Variables"]
        allowed = any(
            "s3:GetBucketPublicAccessBlock" in actions(found)
            for found in template.function_statements(handler)
        )
        assert told == allowed, handler


def test_no_archive_is_made_before_there_is_a_bucket_for_it(assembly: Assembly) -> None:
    manifest = json.loads((assembly.path / "manifest.json").read_text(encoding="utf-8"))

    assert STACK in manifest["artifacts"][EXPORT]["dependencies"]


def test_archives_are_written_by_one_stage_and_projects_by_nobody(assembly: Assembly) -> None:
    writers = set()
    for template, handler, _ in assembly.each_function():
        for statement in template.function_statements(handler):
            if actions(statement) & {"s3:PutObject", "s3:AbortMultipartUpload"}:
                writers.add(handler)
                assert arns(statement) == [f"{BUCKET}/{ARTIFACTS_PREFIX}*"]
            for arn in arns(statement):
                if arn.startswith(PROJECTS):
                    assert actions(statement) <= {"s3:GetObject", "s3:ListBucket"}, handler

    assert writers == {f"{SLICE}.store_archive.handler"}


def test_what_is_in_a_customers_files_is_read_by_one_stage(assembly: Assembly) -> None:
    readers = {
        handler
        for template, handler, _ in assembly.each_function()
        for statement in template.function_statements(handler)
        if f"{PROJECTS}/projects/*/files/*" in arns(statement)
    }

    assert readers == {f"{SLICE}.store_archive.handler"}


def test_projects_are_listed_below_their_own_prefix_only(assembly: Assembly) -> None:
    template = assembly.template(EXPORT)
    (listing,) = (
        found
        for found in template.function_statements(f"{SLICE}.store_archive.handler")
        if arns(found) == [PROJECTS]
    )

    assert listing["Action"] == "s3:ListBucket"
    assert listing["Condition"]["StringLike"] == {"s3:prefix": "projects/*"}


def test_a_bucket_of_that_name_in_another_account_is_of_no_use(assembly: Assembly) -> None:
    seen = 0
    for template, handler, _ in assembly.each_function():
        for statement in template.function_statements(handler):
            if any(found.startswith("s3:") for found in actions(statement)):
                own = statement["Condition"]["StringEquals"]["aws:ResourceAccount"]
                assert text(own) == "<AWS::AccountId>", handler
                seen += 1
    assert seen > 0


@pytest.mark.parametrize("version", sorted(REGISTRY))
def test_a_stage_that_writes_is_given_the_time_that_the_engine_asks_for(version: str) -> None:
    """Three times the call's limit and the margin for the ledger, or nothing is ever begun."""
    for stage in REGISTRY[version].stages:
        if stage.operation is None:
            continue
        provider = REGISTRY[version].operation(stage.operation).provider
        needed_seconds = 3 * CONTRACTS[provider].call_timeout_seconds + 15
        assert stage.timeout_seconds > needed_seconds, stage.name


def test_the_archive_is_made_within_the_memory_that_it_was_measured_with(
    assembly: Assembly,
) -> None:
    function = assembly.template(EXPORT).functions()[f"{SLICE}.store_archive.handler"]

    assert function["Properties"]["MemorySize"] == MEMORY_MIB == 512
    assert Need.STORE_ARTIFACTS in CONTRACT.needs
