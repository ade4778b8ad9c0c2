"""A large project is archived within the memory that a function has."""

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest

from providers.s3_client import ARCHIVE_TYPE
from providers.s3_layout import files_prefix, owner_key
from sandbox.aws import client_environment, start_aws
from sandbox.clients import aws_client
from stacks.function import MEMORY_MIB
from tests.fakes.archive_bench import ARTIFACTS, PROJECTS, owner_record

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

ROOT = Path(__file__).parents[2]
FILE_MIB = 50
FILES = 5
# Half of what a function has: Lambda's own part, and a larger page of a listing, need room too.
PEAK_MIB = MEMORY_MIB // 2
# Some 15 s, and many times that on a busy machine.
CHILD_TIMEOUT_SECONDS = 240
NO_MAIL = "http://127.0.0.1:9"

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """An S3 that holds a project of 250 MiB, in a process of its own."""
    server = start_aws(tmp_path_factory.mktemp("aws"), NO_MAIL)
    try:
        _fill(aws_client("s3", server.port))
        yield server.port
    finally:
        server.stop()


def _fill(client: "S3Client") -> None:
    for bucket in (ARTIFACTS, PROJECTS):
        client.create_bucket(Bucket=bucket)
    closed = ("BlockPublicAcls", "BlockPublicPolicy", "IgnorePublicAcls", "RestrictPublicBuckets")
    client.put_public_access_block(
        Bucket=ARTIFACTS,
        PublicAccessBlockConfiguration=dict.fromkeys(closed, True),  # type: ignore[arg-type]
    )
    client.put_object(Bucket=PROJECTS, Key=owner_key("prj_1"), Body=owner_record("cus_1"))
    content = os.urandom(FILE_MIB * 1024 * 1024)
    for number in range(FILES):
        client.put_object(Bucket=PROJECTS, Key=f"{files_prefix('prj_1')}{number}.bin", Body=content)


def _archive(port: int) -> dict[str, object]:
    paths = os.pathsep.join([str(ROOT / "functions"), str(ROOT)])
    done = subprocess.run(
        [sys.executable, "-m", "tests.contract.large_archive"],
        env={**os.environ, **client_environment(port), "PYTHONPATH": paths},
        capture_output=True,
        check=False,
        cwd=ROOT,
        text=True,
        timeout=CHILD_TIMEOUT_SECONDS,
    )
    assert done.returncode == 0, done.stderr
    return cast("dict[str, object]", json.loads(done.stdout))


def test_250_mib_are_archived_in_half_of_a_functions_memory(port: int) -> None:
    said = _archive(port)

    client = aws_client("s3", port)
    (stored,) = client.list_objects_v2(Bucket=ARTIFACTS)["Contents"]
    answer = client.get_object(Bucket=ARTIFACTS, Key=stored["Key"])
    read = hashlib.sha256()
    for chunk in answer["Body"].iter_chunks(1024 * 1024):
        read.update(chunk)
    found = cast("dict[str, object]", said["found"])
    assert stored["Size"] > FILES * FILE_MIB * 1024 * 1024
    assert said["digest"] == found["digest"] == f"sha256:{read.hexdigest()}"
    assert found["size_bytes"] == stored["Size"]
    assert answer["ContentType"] == ARCHIVE_TYPE
    assert cast("int", said["peak_mib"]) < PEAK_MIB, said
