"""Projects and archives as one process reaches them: requests get lost, late, or through."""

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, NoReturn, cast

from ledger.contract import FaultKind
from ledger.provider import ProviderFault
from providers.s3_api import Project, ProjectFile, StoredArtifact, StoredPart
from providers.s3_promises import ARTIFACTS_PREFIX, CONTRACT
from tests.simulation.archives import ArchiveFault, Archives, measure
from tests.simulation.faults import Fault
from tests.simulation.provider_ports import (
    PROVIDER_TIMEOUT_MS,
    fail_read,
    lose_answer,
    read,
    turn_away,
)

if TYPE_CHECKING:
    from tests.simulation.process import Process

# How long after it was given up a completion may still end; see the contract's settle window.
LANDS_WITHIN_MS = CONTRACT.settle_window_seconds * 1000 - PROVIDER_TIMEOUT_MS
_TURNED_AWAY: Mapping[StrEnum | None, tuple[int, str]] = {
    Fault.KEY_IN_USE: (409, "ConditionalRequestConflict"),
    Fault.REFUSED: (403, "AccessDenied"),
    Fault.THROTTLED: (503, "SlowDown"),
    Fault.SAVED_500_NOT_DONE: (500, "InternalError"),
}
_FROZEN = ("run_id", "effect_id", "customer_id", "project_id", "scope")


class Projects:
    """A ``providers.s3_api.ProjectSource`` as one process reaches it."""

    def __init__(self, process: "Process") -> None:
        """Reach the world's projects from ``process``."""
        self._process = process
        self._archives = cast("Archives", process.world.outside)

    def project(self, project_id: str) -> Project | None:
        """Return a project, and keep in mind that its owner was asked."""
        process = self._process
        found = read(process, "project", partial(self._archives.project, project_id))
        process.has_read.add("archive")
        return found

    def read(self, project_id: str, file: ProjectFile) -> Iterator[bytes]:
        """Yield a file, which may change meanwhile."""
        process = self._process
        struck = process.enter("file")
        fail_read(process, "file", struck)
        content = self._archives.content(project_id, file)
        if struck is ArchiveFault.FILE_CHANGES:
            yield content[:1]
            raise ProviderFault(FaultKind.ANSWERED, 412, "PreconditionFailed")
        yield content
        process.leave(struck)


class Bucket:
    """A ``providers.s3_api.ArtifactStore`` as one process reaches it."""

    def __init__(self, process: "Process") -> None:
        """Reach the world's bucket from ``process``."""
        self._process = process
        self._archives = cast("Archives", process.world.outside)
        self._private = False

    # Reads.

    def is_private(self) -> bool:
        """Return whether the bucket is closed to the public."""
        self._private = read(self._process, "bucket", lambda: self._archives.private)
        return self._private

    def find(self, key: str) -> StoredArtifact | None:
        """Return an object, and keep in mind what it really held."""
        process = self._process
        began_ms = process.world.scheduler.now_ms
        found = read(process, "bucket", lambda: self._archives.objects.get(key))
        process.world.check.was_read(CONTRACT.provider, began_ms)
        process.looked_up.add(CONTRACT.provider)
        if found is None:
            return None
        process.shown[key] = found
        if self._private:
            process.shown_done.add(key)
        measured = found.measured
        return StoredArtifact(
            measured.size_bytes, measured.checksum, dict(found.metadata), found.at_ms
        )

    # Writes.

    def begin(self, key: str, metadata: Mapping[str, str]) -> str:
        """Return the id of a new upload, which shows nothing to anybody."""
        self._check_claimed(key, metadata)
        self._enter_upload(key)
        return self._archives.begin(key, metadata)

    def put_part(self, key: str, upload_id: str, number: int, content: bytes) -> StoredPart:
        """Return the part as taken."""
        self._enter_upload(key)
        upload = self._archives.upload(upload_id)
        upload.parts[number - 1 :] = [content]
        return StoredPart(number, f"tag-{number}", measure((content,)).checksum)

    def abort(self, _key: str, upload_id: str) -> None:
        """Drop an upload."""
        self._process.enter("upload")
        self._archives.drop(upload_id)

    def complete(
        self, key: str, upload_id: str, parts: Sequence[StoredPart], checksum: str, size_bytes: int
    ) -> None:
        """Make the object, and keep in mind what was said to it."""
        upload = self._archives.upload(upload_id)
        measured = measure(tuple(upload.parts))
        self._check_claimed(key, upload.metadata)
        self._process.world.check.require(
            "claim",
            "other bytes than were measured",
            holds=(measured.checksum, measured.size_bytes, len(parts))
            == (checksum, size_bytes, len(upload.parts)),
        )
        mark = upload.metadata["effect_id"]
        try:
            self._complete(upload_id)
        except ProviderFault as fault:
            self._process.words[mark] = fault
            raise
        self._process.words[mark] = key

    def _complete(self, upload_id: str) -> None:
        process = self._process
        struck = process.enter("archive")
        if struck in _TURNED_AWAY:
            raise ProviderFault(FaultKind.ANSWERED, *_TURNED_AWAY[struck])
        if struck in (Fault.LANDS_LATE, Fault.STUCK):
            self._give_up(upload_id)
        turn_away(process, struck)
        if struck in (ArchiveFault.BUCKET_OPENED, ArchiveFault.BUCKET_OPENED_A_WHILE):
            self._archives.meddle(struck)
        self._archives.complete(upload_id)
        if struck in (ArchiveFault.ARCHIVE_REPLACED, ArchiveFault.ARCHIVE_DELETED):
            self._archives.meddle(struck)
        process.leave(struck)
        lose_answer(process, struck)

    def _give_up(self, upload_id: str) -> NoReturn:
        """Leave a completion under way that ends only after nobody waits for it any more."""

        def lands() -> None:
            try:
                self._archives.complete(upload_id)
            except ProviderFault:
                return  # nobody hears it

        process, scheduler = self._process, self._process.world.scheduler
        lands_ms = PROVIDER_TIMEOUT_MS + process.between((0, LANDS_WITHIN_MS))
        scheduler.at(scheduler.now_ms + lands_ms, lands, outside=True)
        scheduler.pause(PROVIDER_TIMEOUT_MS)
        raise ProviderFault(FaultKind.NO_ANSWER)

    def _enter_upload(self, key: str) -> None:
        """Let a request arrive that makes nothing yet, and may be refused for good."""
        process = self._process
        struck = process.enter("upload")
        if struck is Fault.REFUSED:
            refusal = ProviderFault(FaultKind.ANSWERED, 403, "AccessDenied")
            process.words[key.removeprefix(ARTIFACTS_PREFIX)] = refusal
            raise refusal
        fail_read(process, "upload", struck)
        process.leave(struck)

    def _check_claimed(self, key: str, metadata: Mapping[str, str]) -> None:
        sent = {
            "key": key,
            "schema": int(metadata["schema"]),
            **{name: metadata[name] for name in _FROZEN},
        }
        mark = metadata["effect_id"]
        self._process.world.check.write_begins(self._process, "archive", mark, sent)
