"""S3 as boto3 shows it: uploads in parts, conditional completion, and faults on demand."""

import base64
import hashlib
import io
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from http import HTTPStatus
from itertools import count
from typing import Any

from botocore.exceptions import ClientError, EndpointConnectionError, ReadTimeoutError

from ledger.ports import Clock

_ENDPOINT = "https://s3.invalid"
MIN_PART_BYTES = 5 * 1024 * 1024
_SWITCHES = ("BlockPublicAcls", "BlockPublicPolicy", "IgnorePublicAcls", "RestrictPublicBuckets")


class S3Fault(StrEnum):
    """What may happen to one request."""

    COMMIT_THEN_DROP = "commit_then_drop"
    COMMIT_THEN_500 = "commit_then_500"
    CONFLICT = "conflict"  # 409, another write of the key is running
    DENIED = "denied"  # 403
    DROP_BEFORE_COMMIT = "drop_before_commit"
    EXPIRED_TOKEN = "expired_token"
    NEVER_SENT = "never_sent"
    SLOW_DOWN = "slow_down"  # 503


_ANSWERS: Mapping[S3Fault, tuple[int, str]] = {
    S3Fault.COMMIT_THEN_500: (500, "InternalError"),
    S3Fault.CONFLICT: (409, "ConditionalRequestConflict"),
    S3Fault.DENIED: (403, "AccessDenied"),
    S3Fault.EXPIRED_TOKEN: (400, "ExpiredToken"),
    S3Fault.SLOW_DOWN: (503, "SlowDown"),
}


@dataclass(frozen=True)
class StoredObject:
    """An object. ``checksum`` is composite where it was made of parts."""

    body: bytes
    at_ms: int
    metadata: Mapping[str, str] = field(default_factory=dict)
    checksum: str = ""

    @property
    def etag(self) -> str:
        """Return a tag that is another one for other bytes."""
        return f'"{hashlib.md5(self.body, usedforsecurity=False).hexdigest()}"'


@dataclass
class _Upload:
    bucket: str
    key: str
    metadata: Mapping[str, str]
    parts: dict[int, bytes] = field(default_factory=dict)


@dataclass
class FakeBucket:
    """Objects by key, and whether it is closed to the public (None: nobody said)."""

    objects: dict[str, StoredObject] = field(default_factory=dict)
    private: bool | None = True


class FakeS3:
    """The operations that the adapters use of boto3's ``s3`` client."""

    def __init__(self, clock: Clock) -> None:
        """Start without a bucket."""
        self.buckets: dict[str, FakeBucket] = {}
        self.uploads: dict[str, _Upload] = {}
        self.requests: list[str] = []
        """The operations that arrived, oldest first."""

        self._clock = clock
        self._numbers = count(1)
        self._faults: list[tuple[S3Fault, str]] = []

    def fail_next(self, fault: S3Fault, operation: str = "complete_multipart_upload") -> None:
        """Let the next request of ``operation`` meet ``fault``; several form a queue."""
        self._faults.append((fault, operation))

    def put(self, bucket: str, key: str, body: bytes) -> None:
        """Let somebody else store an object."""
        self.buckets[bucket].objects[key] = StoredObject(body, self._clock.now_ms())

    def create_multipart_upload(self, **request: Any) -> Mapping[str, Any]:
        """Return the id of a new upload."""
        fault = self._begin("create_multipart_upload")
        self._bucket(request)
        upload_id = f"upload-{next(self._numbers)}"
        self.uploads[upload_id] = _Upload(request["Bucket"], request["Key"], request["Metadata"])
        return self._end(fault, {"UploadId": upload_id})

    def upload_part(self, **request: Any) -> Mapping[str, Any]:
        """Return the tag of the part, whose checksum must be right."""
        fault = self._begin("upload_part")
        upload = self._upload(request)
        body: bytes = request["Body"]
        if request["ChecksumSHA256"] != _base64(hashlib.sha256(body)):
            raise _client_error(HTTPStatus.BAD_REQUEST, "BadDigest")
        upload.parts[request["PartNumber"]] = body
        return self._end(fault, {"ETag": _tag(body)})

    def complete_multipart_upload(self, **request: Any) -> Mapping[str, Any]:
        """Make the object, unless there is one under the key."""
        fault = self._begin("complete_multipart_upload")
        if fault is S3Fault.CONFLICT:
            raise _client_error(*_ANSWERS[fault])
        upload = self._upload(request)
        objects = self._bucket(request).objects
        if request.get("IfNoneMatch") == "*" and upload.key in objects:
            raise _client_error(HTTPStatus.PRECONDITION_FAILED, "PreconditionFailed")
        parts = [upload.parts[part["PartNumber"]] for part in request["MultipartUpload"]["Parts"]]
        made = StoredObject(
            b"".join(parts), self._clock.now_ms(), upload.metadata, _composite(parts)
        )
        _check_complete(request, parts, made)
        objects[upload.key] = made
        del self.uploads[request["UploadId"]]
        return self._end(fault, {"ETag": made.etag})

    def abort_multipart_upload(self, **request: Any) -> Mapping[str, Any]:
        """Forget an upload."""
        fault = self._begin("abort_multipart_upload")
        self._upload(request)
        del self.uploads[request["UploadId"]]
        return self._end(fault, {})

    def head_object(self, **request: Any) -> Mapping[str, Any]:
        """Return what is known of the object, its checksum only where it was asked for."""
        fault = self._begin("head_object")
        found = self.buckets.get(request["Bucket"], FakeBucket()).objects.get(request["Key"])
        if found is None:  # without a body, and so without a code, for a missing bucket too
            raise _client_error(HTTPStatus.NOT_FOUND, "404")
        asked = request.get("ChecksumMode") == "ENABLED"
        return self._end(
            fault,
            {
                "ContentLength": len(found.body),
                "LastModified": datetime.fromtimestamp(found.at_ms // 1000, UTC),
                "Metadata": dict(found.metadata),
                **({"ChecksumSHA256": found.checksum} if asked and found.checksum else {}),
            },
        )

    def get_object(self, **request: Any) -> Mapping[str, Any]:
        """Return the object with its body as a stream."""
        fault = self._begin("get_object")
        found = self._bucket(request).objects.get(request["Key"])
        if found is None:
            raise _client_error(HTTPStatus.NOT_FOUND, "NoSuchKey")
        if request.get("IfMatch", found.etag) != found.etag:
            raise _client_error(HTTPStatus.PRECONDITION_FAILED, "PreconditionFailed")
        return self._end(fault, {"Body": io.BytesIO(found.body)})

    def list_objects_v2(self, **request: Any) -> Mapping[str, Any]:
        """Return one page of keys, in the order of their bytes."""
        fault = self._begin("list_objects_v2")
        objects = self._bucket(request).objects
        after = request.get("ContinuationToken", "")
        keys = sorted(
            (key for key in objects if key.startswith(request["Prefix"]) and key > after),
            key=lambda key: key.encode(),
        )
        page = keys[: request["MaxKeys"]]
        cut = len(page) < len(keys)
        return self._end(
            fault,
            {
                "Contents": [
                    {"Key": key, "Size": len(objects[key].body), "ETag": objects[key].etag}
                    for key in page
                ],
                "IsTruncated": cut,
                **({"NextContinuationToken": page[-1]} if cut else {}),
            },
        )

    def get_public_access_block(self, **request: Any) -> Mapping[str, Any]:
        """Return the bucket's switches."""
        fault = self._begin("get_public_access_block")
        private = self._bucket(request).private
        if private is None:
            raise _client_error(HTTPStatus.NOT_FOUND, "NoSuchPublicAccessBlockConfiguration")
        switches = dict.fromkeys(_SWITCHES, True) | {"BlockPublicPolicy": private}
        return self._end(fault, {"PublicAccessBlockConfiguration": switches})

    def _begin(self, operation: str) -> S3Fault | None:
        """Return the fault that strikes after the request was carried out, None for none."""
        fault = next((fault for fault, name in self._faults if name == operation), None)
        if fault is not None:
            self._faults.remove((fault, operation))
        if fault is S3Fault.NEVER_SENT:
            raise EndpointConnectionError(endpoint_url=_ENDPOINT)
        self.requests.append(operation)
        if fault is S3Fault.DROP_BEFORE_COMMIT:
            raise ReadTimeoutError(endpoint_url=_ENDPOINT)
        if fault in (S3Fault.DENIED, S3Fault.EXPIRED_TOKEN, S3Fault.SLOW_DOWN):
            raise _client_error(*_ANSWERS[fault])
        return fault

    def _end(self, fault: S3Fault | None, answer: Mapping[str, Any]) -> Mapping[str, Any]:
        if fault is S3Fault.COMMIT_THEN_DROP:
            raise ReadTimeoutError(endpoint_url=_ENDPOINT)
        if fault is S3Fault.COMMIT_THEN_500:
            raise _client_error(*_ANSWERS[fault])
        return answer

    def _bucket(self, request: Mapping[str, Any]) -> FakeBucket:
        found = self.buckets.get(request["Bucket"])
        if found is None:
            raise _client_error(HTTPStatus.NOT_FOUND, "NoSuchBucket")
        return found

    def _upload(self, request: Mapping[str, Any]) -> _Upload:
        found = self.uploads.get(request["UploadId"])
        if found is None or (found.bucket, found.key) != (request["Bucket"], request["Key"]):
            raise _client_error(HTTPStatus.NOT_FOUND, "NoSuchUpload")
        return found


def _check_complete(request: Mapping[str, Any], parts: list[bytes], made: StoredObject) -> None:
    """Raise what S3 answers to parts that do not make the object that is described."""
    if any(len(part) < MIN_PART_BYTES for part in parts[:-1]):
        raise _client_error(HTTPStatus.BAD_REQUEST, "EntityTooSmall")
    if request.get("MpuObjectSize", len(made.body)) != len(made.body):
        raise _client_error(HTTPStatus.BAD_REQUEST, "InvalidRequest")
    if request.get("ChecksumSHA256", made.checksum) != made.checksum:
        raise _client_error(HTTPStatus.BAD_REQUEST, "BadDigest")


def _composite(parts: list[bytes]) -> str:
    of_parts = hashlib.sha256(b"".join(hashlib.sha256(part).digest() for part in parts))
    return f"{_base64(of_parts)}-{len(parts)}"


def _base64(hashed: Any) -> str:
    return base64.b64encode(hashed.digest()).decode()


def _tag(body: bytes) -> str:
    return f'"{hashlib.md5(body, usedforsecurity=False).hexdigest()}"'


def _client_error(status: int, code: str) -> ClientError:
    return ClientError(
        {
            "Error": {"Code": code, "Message": "Refused by the fake."},
            "ResponseMetadata": {"HTTPStatusCode": int(status)},  # type: ignore[typeddict-item]
        },
        "S3",
    )
