"""S3 through boto3: no retries, short timeouts, every failure a ProviderFault."""

import base64
import hashlib
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol, override

from botocore.config import Config

from ledger.contract import FaultKind
from ledger.provider import ProviderFault
from providers.boto_faults import boto_faults, told
from providers.s3_api import ArtifactStore, StoredArtifact, StoredPart

S3_CONFIG = Config(
    connect_timeout=3,
    # After a part has arrived its answer takes well under a second; and the door, which only reads,
    # still answers in our words when one of its reads hangs.
    read_timeout=10,
    # One attempt in all: what follows a lost answer is the ledger's to decide.
    retries={"total_max_attempts": 1, "mode": "standard"},
)
ARCHIVE_TYPE = "application/x-tar"
_PUBLIC_ACCESS_SWITCHES = (
    "BlockPublicAcls",
    "BlockPublicPolicy",
    "IgnorePublicAcls",
    "RestrictPublicBuckets",
)

type Answer = Mapping[str, Any]


class S3Client(Protocol):
    """The operations used of boto3's ``s3`` client, made with S3_CONFIG."""

    def create_multipart_upload(self, **request: Any) -> Answer:  # noqa: ANN401  boto3's own types
        """Return the answer that names the upload."""

    def upload_part(self, **request: Any) -> Answer:  # noqa: ANN401
        """Return the answer that names the part's tag."""

    def complete_multipart_upload(self, **request: Any) -> Answer:  # noqa: ANN401
        """Return the answer that describes the object."""

    def abort_multipart_upload(self, **request: Any) -> Answer:  # noqa: ANN401
        """Return an empty answer."""

    def head_object(self, **request: Any) -> Answer:  # noqa: ANN401
        """Return what is known of the object."""

    def get_object(self, **request: Any) -> Answer:  # noqa: ANN401
        """Return the object with its body as a stream."""

    def list_objects_v2(self, **request: Any) -> Answer:  # noqa: ANN401
        """Return one page of a listing."""

    def get_public_access_block(self, **request: Any) -> Answer:  # noqa: ANN401
        """Return the bucket's switches."""


class S3ArtifactStore(ArtifactStore):
    """``ArtifactStore`` over one bucket."""

    def __init__(self, client: S3Client, bucket: str) -> None:
        """Keep objects in ``bucket``."""
        self._client = client
        self._bucket = bucket

    @override
    def begin(self, key: str, metadata: Mapping[str, str]) -> str:
        with boto_faults():
            answer = self._client.create_multipart_upload(
                Bucket=self._bucket,
                Key=key,
                Metadata=dict(metadata),
                ContentType=ARCHIVE_TYPE,
                ChecksumAlgorithm="SHA256",
                # S3 User Guide, "Checking object integrity": a SHA-256 of several parts is one
                # over the parts' own; only CRCs are made for the whole.
                ChecksumType="COMPOSITE",
            )
            return str(told(answer, "UploadId"))

    @override
    def put_part(self, key: str, upload_id: str, number: int, content: bytes) -> StoredPart:
        checksum = base64.b64encode(hashlib.sha256(content).digest()).decode()
        with boto_faults():
            answer = self._client.upload_part(
                Bucket=self._bucket,
                Key=key,
                UploadId=upload_id,
                PartNumber=number,
                Body=content,
                ChecksumSHA256=checksum,
            )
            return StoredPart(number, str(told(answer, "ETag")), checksum)

    @override
    def complete(
        self, key: str, upload_id: str, parts: Sequence[StoredPart], checksum: str, size_bytes: int
    ) -> None:
        with boto_faults():
            answer = self._client.complete_multipart_upload(
                Bucket=self._bucket,
                Key=key,
                UploadId=upload_id,
                MultipartUpload={
                    "Parts": [
                        {"PartNumber": one.number, "ETag": one.tag, "ChecksumSHA256": one.checksum}
                        for one in parts
                    ]
                },
                IfNoneMatch="*",
                ChecksumSHA256=f"{checksum}-{len(parts)}",
                MpuObjectSize=size_bytes,
            )
            # A page of something in between comes with 200, too, and names no object.
            _ = told(answer, "ETag")

    @override
    def abort(self, key: str, upload_id: str) -> None:
        with boto_faults():
            self._client.abort_multipart_upload(Bucket=self._bucket, Key=key, UploadId=upload_id)

    @override
    def find(self, key: str) -> StoredArtifact | None:
        try:
            with boto_faults():
                answer = self._client.head_object(
                    Bucket=self._bucket, Key=key, ChecksumMode="ENABLED"
                )
                return _stored(answer)
        except ProviderFault as fault:
            # The answer to a HEAD has no body, so it names no code.
            if fault.status == 404 and fault.code is None:
                return None
            raise

    @override
    def is_private(self) -> bool:
        try:
            with boto_faults():
                answer = self._client.get_public_access_block(Bucket=self._bucket)
                switches = told(answer, "PublicAccessBlockConfiguration")
                return all(switches.get(name) is True for name in _PUBLIC_ACCESS_SWITCHES)
        except ProviderFault as fault:
            if fault.code == "NoSuchPublicAccessBlockConfiguration":
                return False
            raise


def _stored(answer: Answer) -> StoredArtifact:
    modified = told(answer, "LastModified")
    if not isinstance(modified, datetime):
        raise ProviderFault(FaultKind.UNREADABLE, 200)
    return StoredArtifact(
        size_bytes=told(answer, "ContentLength"),
        # After a hyphen follows the number of parts.
        checksum=str(answer.get("ChecksumSHA256", "")).partition("-")[0],
        metadata=told(answer, "Metadata"),
        stored_at_ms=int(modified.timestamp() * 1000),
    )
