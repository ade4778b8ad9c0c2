"""Projects of customers in a bucket of the team, as a ``ProjectSource``. They are only read."""

import re
from collections.abc import Iterator
from typing import override

from pydantic import BaseModel, ConfigDict, ValidationError

from ledger.contract import FaultKind
from ledger.provider import ProviderFault
from providers.boto_faults import boto_faults, told
from providers.s3_api import Project, ProjectFile, ProjectSource
from providers.s3_client import Answer, S3Client
from providers.s3_layout import files_prefix, owner_key

CHUNK_BYTES = 1024 * 1024
"""How much of a file is read at once."""

MAX_FILES = 10_000
"""Ours: ten pages of a listing, which the door still reads in time."""

# An owner record holds one id.
MAX_OWNER_RECORD_BYTES = 4096
_PAGE_FILES = 1000  # S3 API reference, ListObjectsV2: at most 1,000 keys a page
_PROJECT_ID = re.compile(r"[A-Za-z0-9_-]{1,255}")


class OwnerRecord(BaseModel):
    """``owner.json`` of a project: whose it is. Other members are dropped unread."""

    model_config = ConfigDict(frozen=True, extra="ignore", strict=True, hide_input_in_errors=True)

    customer_id: str


class S3Projects(ProjectSource):
    """``ProjectSource`` over a bucket of the team.

    Where in it is what, ``s3_layout`` says.
    """

    def __init__(self, client: S3Client, bucket: str) -> None:
        """Read projects from ``bucket``."""
        self._client = client
        self._bucket = bucket

    @override
    def project(self, project_id: str) -> Project | None:
        if not _PROJECT_ID.fullmatch(project_id):
            return None
        owner = self._owner(project_id)
        if owner is None:
            return None
        files, complete = self._files(project_id)
        return Project(owner.customer_id, files, complete)

    @override
    def read(self, project_id: str, file: ProjectFile) -> Iterator[bytes]:
        with boto_faults():
            answer = self._client.get_object(
                Bucket=self._bucket,
                Key=f"{files_prefix(project_id)}{file.name}",
                IfMatch=file.version,
            )
            body = told(answer, "Body")
            try:
                yield from iter(lambda: body.read(CHUNK_BYTES), b"")
            finally:
                body.close()

    def _owner(self, project_id: str) -> OwnerRecord | None:
        # By a listing, which shows absence without the right to list everything.
        key = owner_key(project_id)
        with boto_faults():
            listed = self._client.list_objects_v2(Bucket=self._bucket, Prefix=key, MaxKeys=1)
            if not any(told(found, "Key") == key for found in listed.get("Contents", ())):
                return None
            answer = self._client.get_object(Bucket=self._bucket, Key=key)
            body = told(answer, "Body")
            try:
                content = body.read(MAX_OWNER_RECORD_BYTES)
            finally:
                body.close()
        try:
            return OwnerRecord.model_validate_json(content)
        except ValidationError as error:
            raise ProviderFault(FaultKind.UNREADABLE, 200) from error

    def _files(self, project_id: str) -> tuple[tuple[ProjectFile, ...], bool]:
        prefix = files_prefix(project_id)
        files: list[ProjectFile] = []
        page: dict[str, str] = {}
        for _ in range(MAX_FILES // _PAGE_FILES):
            with boto_faults():
                listed = self._client.list_objects_v2(
                    Bucket=self._bucket, Prefix=prefix, MaxKeys=_PAGE_FILES, **page
                )
                files += (_file(found, prefix) for found in listed.get("Contents", ()))
                if not listed.get("IsTruncated"):
                    return _without_folders(files), True
                page = {"ContinuationToken": told(listed, "NextContinuationToken")}
        return _without_folders(files), False


def _file(found: Answer, prefix: str) -> ProjectFile:
    return ProjectFile(
        told(found, "Key").removeprefix(prefix), told(found, "Size"), told(found, "ETag")
    )


def _without_folders(files: list[ProjectFile]) -> tuple[ProjectFile, ...]:
    """Return the files without the empty objects by which tools show a folder."""
    return tuple(file for file in files if file.size_bytes or not f"/{file.name}".endswith("/"))
