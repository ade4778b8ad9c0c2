"""Archives in S3: at most one under a key, of exactly one project, and never half of one."""

import hashlib
import io
import tarfile
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from ledger.contract import ErrorClass, FaultKind
from ledger.provider import ProviderFault, RecordStatus
from ledger.record import Scalar
from providers import s3_artifacts
from providers.s3_artifacts import S3Artifacts
from providers.s3_client import S3ArtifactStore
from providers.s3_layout import files_prefix, owner_key
from providers.s3_projects import MAX_FILES, S3Projects
from providers.s3_promises import (
    CALL_TIMEOUT_SECONDS,
    CONTRACT,
    MAX_PROJECT_BYTES,
    RETENTION_DAYS,
    VALID_SECONDS,
)
from tests.fakes.archive_bench import (
    ARTIFACTS,
    FILES,
    PROJECTS,
    ArchiveWorld,
    archive_world,
    owner_record,
)
from tests.fakes.benches import EFFECT_ID, RUN_ID
from tests.fakes.s3 import MIN_PART_BYTES, FakeBucket, S3Fault, StoredObject

KEY = f"artifacts/{EFFECT_ID}"


@pytest.fixture
def world() -> ArchiveWorld:
    return archive_world()


def put_file(world: ArchiveWorld, name: str, content: bytes) -> None:
    world.s3.put(PROJECTS, f"{files_prefix('prj_1')}{name}", content)


def failed_call(world: ArchiveWorld) -> ErrorClass:
    """Return what the fault of one call means."""
    with pytest.raises(ProviderFault) as caught:
        world.provider.call(world.bench.frozen_call())
    fault = caught.value
    return CONTRACT.classify(fault.kind, fault.status, fault.code)


def assert_nothing_is_there(world: ArchiveWorld) -> None:
    assert world.stored() == {}
    assert world.s3.uploads == {}
    assert world.provider.look_up(world.bench.frozen_call()).records == ()


def test_the_archive_holds_the_project_and_nothing_else(world: ArchiveWorld) -> None:
    world.s3.put(PROJECTS, owner_key("prj_10"), owner_record("cus_2"))
    world.s3.put(PROJECTS, f"{files_prefix('prj_10')}secret.txt", b"of somebody else")
    world.s3.put(PROJECTS, files_prefix("prj_1"), b"")  # how tools show a folder

    world.provider.call(world.bench.frozen_call())

    with tarfile.open(fileobj=io.BytesIO(world.stored()[KEY].body)) as archive:
        names = archive.getnames()
    assert names == [f"prj_1/{name}" for name in sorted(FILES)]


def test_the_object_says_what_it_is_and_names_nobody(world: ArchiveWorld) -> None:
    record = world.provider.call(world.bench.frozen_call())

    ((key, stored),) = world.stored().items()
    digest = f"sha256:{hashlib.sha256(stored.body).hexdigest()}"
    assert key == record.record_id == KEY
    assert record.fields["digest"] == digest
    assert record.fields["size_bytes"] == len(stored.body)
    assert stored.metadata == {
        "run_id": RUN_ID,
        "effect_id": EFFECT_ID,
        "customer_id": "cus_1",
        "project_id": "prj_1",
        "scope": "project",
        "schema": "1",
        "digest": digest,
        "checksum": stored.checksum.removesuffix("-1"),
        "size_bytes": str(len(stored.body)),
    }


def test_reading_back_shows_the_digest_and_until_when_it_may_be_fetched(
    world: ArchiveWorld,
) -> None:
    call = world.bench.frozen_call()
    told = world.provider.call(call)
    world.clock.pass_ms(60_000)

    (found,) = world.provider.look_up(call).records

    stored_at_ms = world.stored()[KEY].at_ms
    assert found.fields == {**told.fields, "valid_until_ms": stored_at_ms + VALID_SECONDS * 1000}


def test_the_same_project_gives_the_same_archive(world: ArchiveWorld) -> None:
    first = world.provider.call(world.bench.frozen_call("eff_one"))
    world.clock.pass_ms(3_600_000)
    second = world.provider.call(world.bench.frozen_call("eff_two"))

    assert first.fields["digest"] == second.fields["digest"]
    assert first.record_id != second.record_id


def test_a_large_archive_is_sent_in_parts_that_s3_checks_as_a_whole(
    world: ArchiveWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(s3_artifacts, "PART_BYTES", MIN_PART_BYTES)
    put_file(world, "large.bin", b"\x5a" * (2 * MIN_PART_BYTES + 1))

    record = world.provider.call(world.bench.frozen_call())
    (found,) = world.provider.look_up(world.bench.frozen_call()).records

    stored = world.stored()[KEY]
    assert world.s3.requests.count("upload_part") == 3
    assert stored.checksum.endswith("-3")
    assert found.fields["digest"] == record.fields["digest"]
    assert record.fields["digest"] == f"sha256:{hashlib.sha256(stored.body).hexdigest()}"


def test_a_second_archive_under_the_key_is_refused_and_the_first_stands(
    world: ArchiveWorld,
) -> None:
    world.provider.call(world.bench.frozen_call())
    first = world.stored()[KEY]
    put_file(world, "later.txt", b"added since")

    assert failed_call(world) is ErrorClass.COMPARE
    assert world.stored() == {KEY: first}
    assert world.s3.uploads == {}


def test_of_two_workers_who_complete_one_after_the_other_one_wins(world: ArchiveWorld) -> None:
    other = S3Artifacts(S3ArtifactStore(world.s3, ARTIFACTS), S3Projects(world.s3, PROJECTS))

    class Faster(S3ArtifactStore):
        """Lets the other worker finish while this one is between its parts and its end."""

        def complete(self, *arguments: Any) -> None:
            other.call(world.bench.frozen_call())
            super().complete(*arguments)

    world.bench.provider = S3Artifacts(
        Faster(world.s3, ARTIFACTS), S3Projects(world.s3, PROJECTS), lambda: 0.0
    )

    assert failed_call(world) is ErrorClass.COMPARE
    assert list(world.stored()) == [KEY]
    assert world.s3.uploads == {}


@pytest.mark.parametrize(
    ("fault", "meaning", "made"),
    [
        (S3Fault.COMMIT_THEN_DROP, ErrorClass.UNKNOWN, True),
        (S3Fault.COMMIT_THEN_500, ErrorClass.UNKNOWN, True),
        (S3Fault.DROP_BEFORE_COMMIT, ErrorClass.UNKNOWN, False),
        (S3Fault.SLOW_DOWN, ErrorClass.UNKNOWN, False),
        (S3Fault.CONFLICT, ErrorClass.SAME_KEY_AGAIN, False),
        (S3Fault.DENIED, ErrorClass.REFUSED, False),
        (S3Fault.EXPIRED_TOKEN, ErrorClass.NOT_REACHED, False),
        (S3Fault.NEVER_SENT, ErrorClass.NOT_REACHED, False),
    ],
)
def test_only_the_completing_request_can_leave_a_doubt(
    world: ArchiveWorld, fault: S3Fault, meaning: ErrorClass, *, made: bool
) -> None:
    world.s3.fail_next(fault)

    assert failed_call(world) is meaning
    marks = [found.mark for found in world.provider.look_up(world.bench.frozen_call()).records]
    assert marks == ([EFFECT_ID] if made else [])


def test_an_upload_whose_completion_may_be_running_is_left_alone(world: ArchiveWorld) -> None:
    world.s3.fail_next(S3Fault.DROP_BEFORE_COMMIT)

    failed_call(world)

    assert "abort_multipart_upload" not in world.s3.requests


@pytest.mark.parametrize("operation", ["create_multipart_upload", "upload_part"])
@pytest.mark.parametrize(
    "fault",
    [
        S3Fault.COMMIT_THEN_500,
        S3Fault.DROP_BEFORE_COMMIT,
        S3Fault.NEVER_SENT,
        S3Fault.SLOW_DOWN,
        S3Fault.EXPIRED_TOKEN,
    ],
)
def test_whatever_fails_before_that_had_no_effect(
    world: ArchiveWorld, operation: str, fault: S3Fault
) -> None:
    world.s3.fail_next(fault, operation)

    assert failed_call(world) is ErrorClass.NOT_REACHED
    assert world.stored() == {}
    assert "complete_multipart_upload" not in world.s3.requests


@pytest.mark.parametrize("operation", ["create_multipart_upload", "upload_part"])
def test_a_store_that_denies_is_believed_and_keeps_nothing(
    world: ArchiveWorld, operation: str
) -> None:
    world.s3.fail_next(S3Fault.DENIED, operation)

    assert failed_call(world) is ErrorClass.REFUSED
    assert_nothing_is_there(world)


def test_an_upload_that_cannot_be_dropped_hides_no_reason(world: ArchiveWorld) -> None:
    world.s3.fail_next(S3Fault.DENIED, "upload_part")
    world.s3.fail_next(S3Fault.NEVER_SENT, "abort_multipart_upload")

    assert failed_call(world) is ErrorClass.REFUSED


@pytest.mark.parametrize("operation", ["list_objects_v2", "get_object"])
@pytest.mark.parametrize(
    "fault",
    [S3Fault.DENIED, S3Fault.DROP_BEFORE_COMMIT, S3Fault.COMMIT_THEN_500, S3Fault.NEVER_SENT],
)
def test_what_the_source_answers_is_no_word_about_the_archive(
    world: ArchiveWorld, operation: str, fault: S3Fault
) -> None:
    world.s3.fail_next(fault, operation)

    assert failed_call(world) is ErrorClass.NOT_REACHED
    assert_nothing_is_there(world)


def change_before_read(monkeypatch: pytest.MonkeyPatch, at: int, change: Any) -> None:
    """Let ``change`` happen just before the project's files are read for the ``at``-th time."""
    read = S3Projects.read
    seen = 0

    def reading(self: S3Projects, *arguments: Any) -> Iterator[bytes]:
        nonlocal seen
        seen += 1
        if seen == at:
            change()
        return read(self, *arguments)

    monkeypatch.setattr(S3Projects, "read", reading)


@pytest.mark.parametrize("at", [1, 2, 3, 4])
def test_a_file_that_changes_while_it_is_read_ends_in_nothing(
    world: ArchiveWorld, monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    def change() -> None:
        for name, content in FILES.items():
            put_file(world, name, content[::-1])

    change_before_read(monkeypatch, at, change)

    assert failed_call(world) is ErrorClass.NOT_REACHED
    assert_nothing_is_there(world)


def test_a_source_that_gives_other_bytes_for_one_version_ends_in_nothing(
    world: ArchiveWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sizes and tags agree and the bytes do not: only the two digests can tell."""
    read = S3Projects.read
    seen = 0

    def reading(self: S3Projects, *arguments: Any) -> Iterator[bytes]:
        nonlocal seen
        seen += 1
        for chunk in read(self, *arguments):
            yield chunk if seen <= len(FILES) else chunk[::-1]

    monkeypatch.setattr(S3Projects, "read", reading)

    assert failed_call(world) is ErrorClass.NOT_REACHED
    assert_nothing_is_there(world)


def test_a_project_that_changed_hands_after_the_check_is_not_archived(world: ArchiveWorld) -> None:
    assert world.provider.authority(world.bench.bound, {}).allowed
    world.s3.put(PROJECTS, owner_key("prj_1"), owner_record("cus_2"))

    assert failed_call(world) is ErrorClass.NOT_REACHED
    assert_nothing_is_there(world)


def test_a_call_that_takes_too_long_stops_before_it_has_an_effect(
    world: ArchiveWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    def pass_time() -> None:
        world.clock.pass_ms(CALL_TIMEOUT_SECONDS * 1000)

    change_before_read(monkeypatch, 3, pass_time)

    assert failed_call(world) is ErrorClass.NOT_REACHED
    assert_nothing_is_there(world)


def test_a_listing_of_several_pages_is_read_to_its_end(world: ArchiveWorld) -> None:
    for number in range(2_500):
        put_file(world, f"{number:04}.txt", b"1")

    record = world.provider.call(world.bench.frozen_call())

    with tarfile.open(fileobj=io.BytesIO(world.stored()[record.record_id].body)) as archive:
        assert len(set(archive.getnames())) == 2_500 + len(FILES)


def _no_project(world: ArchiveWorld) -> None:
    del world.s3.buckets[PROJECTS].objects[owner_key("prj_1")]


def _other_owner(world: ArchiveWorld) -> None:
    world.s3.put(PROJECTS, owner_key("prj_1"), owner_record("cus_2"))


def _no_files(world: ArchiveWorld) -> None:
    for name in FILES:
        del world.s3.buckets[PROJECTS].objects[f"{files_prefix('prj_1')}{name}"]


def _too_many_files(world: ArchiveWorld) -> None:
    for number in range(MAX_FILES):
        put_file(world, f"{number}.txt", b"")
        world.s3.buckets[PROJECTS].objects[f"{files_prefix('prj_1')}{number}.txt"] = StoredObject(
            b"1", 0
        )


def _too_large(world: ArchiveWorld) -> None:
    class Large(bytes):
        """Says that it is longer than it is."""

        def __len__(self) -> int:
            return MAX_PROJECT_BYTES

    key = f"{files_prefix('prj_1')}large.bin"
    world.s3.buckets[PROJECTS].objects[key] = StoredObject(Large(b"x"), 0)


def _unsafe_name(world: ArchiveWorld) -> None:
    put_file(world, "../up.txt", b"x")


def _open_bucket(world: ArchiveWorld) -> None:
    world.s3.buckets[ARTIFACTS].private = False


def _unsaid_bucket(world: ArchiveWorld) -> None:
    world.s3.buckets[ARTIFACTS].private = None


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (_no_project, "does not exist"),
        (_other_owner, "another customer"),
        (_no_files, "no files"),
        (_too_many_files, "too many files"),
        (_too_large, "larger than"),
        (_unsafe_name, "not safe to unpack"),
        (_open_bucket, "open to the public"),
        (_unsaid_bucket, "open to the public"),
    ],
)
def test_an_archive_that_cannot_or_must_not_be_made_is_not_allowed(
    world: ArchiveWorld, spoil: Callable[[ArchiveWorld], None], reason: str
) -> None:
    spoil(world)

    authority = world.provider.authority(world.bench.bound, {})

    assert not authority.allowed
    assert reason in authority.reason


@pytest.mark.parametrize("change", [{"scope": "account"}, {"schema": 2}])
def test_another_scope_or_schema_than_one_project_is_not_made(
    world: ArchiveWorld, change: dict[str, Scalar]
) -> None:
    authority = world.provider.authority({**world.bench.bound, **change}, {})

    assert not authority.allowed


@pytest.mark.parametrize("project_id", ["", "..", "a/b", "prj_1/files", "*"])
def test_an_id_that_is_none_leads_to_no_other_project(world: ArchiveWorld, project_id: str) -> None:
    authority = world.provider.authority({**world.bench.bound, "project_id": project_id}, {})

    assert not authority.allowed
    assert "list_objects_v2" not in world.s3.requests


def test_of_a_stored_archive_only_its_owner_is_asked(world: ArchiveWorld) -> None:
    bound: dict[str, Scalar] = {
        "customer_id": "cus_1",
        "project_id": "prj_1",
        "artifact_id": KEY,
        "valid_until_ms": 1,
    }
    _no_files(world)

    assert world.provider.authority(bound, {}).allowed
    _other_owner(world)
    assert not world.provider.authority(bound, {}).allowed


@pytest.mark.parametrize("content", [b"", b"{}", b'{"customer_id": 7}', b"<xml/>", b"{" * 5000])
def test_an_owner_that_cannot_be_read_allows_nothing(world: ArchiveWorld, content: bytes) -> None:
    world.s3.put(PROJECTS, owner_key("prj_1"), content)

    with pytest.raises(ProviderFault) as caught:
        world.provider.authority(world.bench.bound, {})
    assert caught.value.kind is FaultKind.UNREADABLE


def test_the_silence_of_a_bucket_that_is_not_there_proves_no_absence(world: ArchiveWorld) -> None:
    del world.s3.buckets[ARTIFACTS]

    with pytest.raises(ProviderFault):
        world.provider.look_up(world.bench.frozen_call())


@pytest.mark.parametrize("private", [False, None])
def test_an_archive_in_a_bucket_that_was_opened_is_not_finished(
    world: ArchiveWorld, private: bool | None
) -> None:
    world.provider.call(world.bench.frozen_call())
    world.s3.buckets[ARTIFACTS].private = private

    findings = world.provider.look_up(world.bench.frozen_call())

    assert findings.records[0].status is RecordStatus.PENDING
    assert any("open to the public" in concern for concern in findings.concerns)


def _other_bytes(stored: StoredObject) -> StoredObject:
    return StoredObject(stored.body[::-1], stored.at_ms, stored.metadata, "b3RoZXI=-1")


def _cut_short(stored: StoredObject) -> StoredObject:
    return StoredObject(stored.body[:-1], stored.at_ms, stored.metadata, stored.checksum)


def _of_another_effect(stored: StoredObject) -> StoredObject:
    metadata = {**stored.metadata, "effect_id": "eff_other"}
    return StoredObject(stored.body, stored.at_ms, metadata, stored.checksum)


def _without_metadata(stored: StoredObject) -> StoredObject:
    return StoredObject(stored.body, stored.at_ms, {}, stored.checksum)


def _without_checksum(stored: StoredObject) -> StoredObject:
    return StoredObject(stored.body, stored.at_ms, stored.metadata)


@pytest.mark.parametrize(
    "spoil",
    [_other_bytes, _cut_short, _of_another_effect, _without_metadata, _without_checksum],
)
def test_what_is_under_our_key_and_not_what_was_stored_proves_nothing(
    world: ArchiveWorld, spoil: Callable[[StoredObject], StoredObject]
) -> None:
    world.provider.call(world.bench.frozen_call())
    objects = world.s3.buckets[ARTIFACTS].objects
    objects[KEY] = spoil(objects[KEY])

    (found,) = world.provider.look_up(world.bench.frozen_call()).records

    assert found.mark == EFFECT_ID  # so it is a conflict, and no absence
    assert found.fields == {}


def test_an_archive_is_kept_for_longer_than_it_may_be_fetched_or_looked_for() -> None:
    kept_seconds = RETENTION_DAYS * 24 * 3600

    assert kept_seconds > VALID_SECONDS + CONTRACT.recovery_deadline_seconds


def test_no_other_bucket_is_written_to(world: ArchiveWorld) -> None:
    before = dict(world.s3.buckets[PROJECTS].objects)
    world.s3.buckets["other"] = FakeBucket()

    world.provider.call(world.bench.frozen_call())

    assert world.s3.buckets[PROJECTS].objects == before
    assert world.s3.buckets["other"].objects == {}
