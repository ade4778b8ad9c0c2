"""Projects of customers in the team's bucket, and a large file where somebody asks for one."""

import json
from collections.abc import Iterator, Mapping
from io import BufferedReader, RawIOBase

from providers.s3_layout import files_prefix, owner_key
from sandbox.clients import aws_client

PROJECTS_BUCKET = "recovery-ledger-projects"
PROJECT_ID = "prj_sample"
SAMPLE_FILES: Mapping[str, bytes] = {
    "README.md": b"# A sample project\n\nThree files, for an export that is quick.\n",
    "notes/first.txt": b"What was said at the first meeting.\n" * 20,
    "data/measured.bin": bytes(range(256)) * 64,
}
LARGE_FILE = "large.bin"
_CHUNK_BYTES = 1024 * 1024


def create_projects_bucket(aws_port: int) -> None:
    """The bucket, which the stacks take as given."""
    aws_client("s3", aws_port).create_bucket(Bucket=PROJECTS_BUCKET)


def create_project(
    aws_port: int,
    project_id: str,
    customer_id: str,
    files: Mapping[str, bytes] = SAMPLE_FILES,
) -> None:
    """A project of that customer with these files."""
    s3 = aws_client("s3", aws_port)
    for name, content in files.items():
        s3.put_object(Bucket=PROJECTS_BUCKET, Key=f"{files_prefix(project_id)}{name}", Body=content)
    give_project(aws_port, project_id, customer_id)


def give_project(aws_port: int, project_id: str, customer_id: str) -> None:
    """Makes that customer the owner."""
    aws_client("s3", aws_port).put_object(
        Bucket=PROJECTS_BUCKET,
        Key=owner_key(project_id),
        Body=json.dumps({"customer_id": customer_id}),
    )


def add_large_file(aws_port: int, project_id: str, size_mib: int) -> None:
    """One more file of that size, sent in parts as it is made."""
    aws_client("s3", aws_port).upload_fileobj(
        BufferedReader(_Made(size_mib)), PROJECTS_BUCKET, f"{files_prefix(project_id)}{LARGE_FILE}"
    )


class _Made(RawIOBase):
    """A file of so many MiB, each filled with its own number."""

    def __init__(self, size_mib: int) -> None:
        self._chunks = _chunks(size_mib)
        self._rest = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        if not self._rest:
            self._rest = next(self._chunks, b"")
        size = min(len(buffer), len(self._rest))
        buffer[:size], self._rest = self._rest[:size], self._rest[size:]
        return size


def _chunks(size_mib: int) -> Iterator[bytes]:
    for number in range(size_mib):
        yield number.to_bytes(4) * (_CHUNK_BYTES // 4)
