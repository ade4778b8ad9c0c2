"""The archive of a project, wired to a world in which its write is allowed."""

import json
from dataclasses import dataclass
from typing import Any

from ledger.record import Scalar
from providers.s3_artifacts import S3Artifacts
from providers.s3_client import S3ArtifactStore, S3Client
from providers.s3_layout import files_prefix, owner_key
from providers.s3_projects import S3Projects
from tests.fakes.benches import Bench, Guard
from tests.fakes.clock import FakeClock
from tests.fakes.s3 import FakeBucket, FakeS3, S3Fault

ARTIFACTS = "artifacts-bucket"
PROJECTS = "projects-bucket"
FILES = {"notes.txt": b"a few words", "pictures/one.bin": bytes(range(256)) * 3}
CHANGED_KEY = f"{files_prefix('prj_1')}notes.txt"
CHANGED_CONTENT = b"other words"
_MAX_KEYS = 100  # more than any test stores


@dataclass
class ArchiveWorld:
    """Everything that the archive meets."""

    clock: FakeClock
    s3: FakeS3
    bench: Bench

    @property
    def provider(self) -> S3Artifacts:
        """Return the adapter."""
        assert isinstance(self.bench.provider, S3Artifacts)
        return self.bench.provider

    def stored(self) -> dict[str, Any]:
        """Return the archives by key."""
        return dict(self.s3.buckets[ARTIFACTS].objects)


def archive_bench(client: S3Client, monotonic: Any = lambda: 0.0) -> Bench:
    """Return the archive of the project ``prj_1``, which ``client`` shows."""
    bound: dict[str, Scalar] = {
        "customer_id": "cus_1",
        "project_id": "prj_1",
        "scope": "project",
        "schema": 1,
    }
    store, projects = S3ArtifactStore(client, ARTIFACTS), S3Projects(client, PROJECTS)
    provider = S3Artifacts(store, projects, monotonic)
    return Bench(provider, "archive", bound, guard=Guard.OBJECT, held=lambda: _keys_in(client))


def archive_world() -> ArchiveWorld:
    """Return a world with one customer, who has one project of two files."""
    clock = FakeClock()
    s3 = FakeS3(clock)
    s3.buckets = {ARTIFACTS: FakeBucket(), PROJECTS: FakeBucket()}
    s3.put(PROJECTS, owner_key("prj_1"), owner_record("cus_1"))
    for name, content in FILES.items():
        s3.put(PROJECTS, f"{files_prefix('prj_1')}{name}", content)
    bench = archive_bench(s3, lambda: clock.now_ms() / 1000)
    bench.lose_next_answer = lambda: s3.fail_next(S3Fault.COMMIT_THEN_DROP)
    bench.change_target = lambda: s3.put(PROJECTS, CHANGED_KEY, CHANGED_CONTENT)
    return ArchiveWorld(clock, s3, bench)


def _keys_in(client: S3Client) -> list[str]:
    page = client.list_objects_v2(Bucket=ARTIFACTS, Prefix="", MaxKeys=_MAX_KEYS)
    return [found["Key"] for found in page.get("Contents", ())]


def owner_record(customer_id: str) -> bytes:
    """Return what the record of an owner holds."""
    return json.dumps({"customer_id": customer_id, "since": "2024-01-01"}).encode()
