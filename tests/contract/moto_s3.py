"""The archive of a project over moto's S3, in this process."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast
from unittest import mock

import boto3
from moto import mock_aws

from providers.s3_client import S3_CONFIG
from providers.s3_layout import files_prefix, owner_key
from tests.fakes.archive_bench import (
    ARTIFACTS,
    CHANGED_CONTENT,
    CHANGED_KEY,
    FILES,
    PROJECTS,
    archive_bench,
    owner_record,
)
from tests.fakes.benches import Bench
from tests.ledger_table import FAKE_ACCOUNT

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

_CLOSED = {
    "BlockPublicAcls": True,
    "BlockPublicPolicy": True,
    "IgnorePublicAcls": True,
    "RestrictPublicBuckets": True,
}


@contextmanager
def moto_archive_bench() -> Iterator[Bench]:
    """Yield the archive of one customer's project."""
    with mock.patch.dict("os.environ", FAKE_ACCOUNT), mock_aws():
        client = boto3.client("s3", config=S3_CONFIG)
        for bucket in (ARTIFACTS, PROJECTS):
            where: Any = {"LocationConstraint": FAKE_ACCOUNT["AWS_DEFAULT_REGION"]}
            client.create_bucket(Bucket=bucket, CreateBucketConfiguration=where)
        yield s3_archive_bench(client)


def s3_archive_bench(client: "S3Client") -> Bench:
    """Return the archive of one customer's project over a real client and two empty buckets."""
    client.put_public_access_block(
        Bucket=ARTIFACTS, PublicAccessBlockConfiguration=cast("Any", _CLOSED)
    )
    client.put_object(Bucket=PROJECTS, Key=owner_key("prj_1"), Body=owner_record("cus_1"))
    for name, content in FILES.items():
        client.put_object(Bucket=PROJECTS, Key=f"{files_prefix('prj_1')}{name}", Body=content)

    def change_target() -> None:
        client.put_object(Bucket=PROJECTS, Key=CHANGED_KEY, Body=CHANGED_CONTENT)

    bench = archive_bench(cast("Any", client))
    bench.change_target = change_target
    return bench
