"""Projects and archives in truth: what is kept of which bytes, and who may see it.

An object comes into being when its upload is completed, all at once, and only while there is none
under its key, as S3 documents it.
"""

import base64
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from typing import TYPE_CHECKING

from ledger.contract import FaultKind
from ledger.provider import ProviderFault
from providers.s3_api import Project, ProjectFile
from tests.simulation.outside import CUSTOMER_ID, Outside

if TYPE_CHECKING:
    from tests.simulation.world import World

OTHER_CUSTOMER_ID = "cus_2"
PROJECT_IDS = ("prj_1", "prj_2")
FILES = {"notes.txt": b"a few words", "pictures/one.bin": bytes(range(256))}
EDITED = b"other words!"
MAX_MEASURED = 1_000


class ArchiveFault(StrEnum):
    """What may go wrong with projects and archives, and what others do to them."""

    FILE_CHANGES = "a file changes while it is read"
    PROJECT_GIVEN_AWAY = "project given to another customer"
    PROJECT_EDITED = "project edited by its customer"
    PROJECT_EMPTIED = "project emptied"
    BUCKET_OPENED = "bucket opened to the public"
    BUCKET_OPENED_A_WHILE = "bucket opened to the public for a while"
    ARCHIVE_DELETED = "archive deleted by a colleague"
    ARCHIVE_REPLACED = "archive replaced by a colleague, under the same name"


@dataclass(frozen=True)
class Measured:
    """Some bytes: how many, their SHA-256, and the SHA-256 over those of their parts, in base64."""

    size_bytes: int
    digest: str
    checksum: str


@dataclass
class ProjectTruth:
    """One project as its owner holds it."""

    owner_id: str = CUSTOMER_ID
    files: dict[str, bytes] = field(default_factory=lambda: dict(FILES))


@dataclass
class Upload:
    """An upload that was begun and may still be completed."""

    key: str
    metadata: Mapping[str, str]
    parts: list[bytes] = field(default_factory=list)


@dataclass(frozen=True)
class Stored:
    """One object."""

    body: bytes
    measured: Measured
    metadata: Mapping[str, str]
    at_ms: int


class Archives(Outside):
    """Two projects of one customer, and a bucket for archives."""

    def __init__(self, world: "World") -> None:
        """Start with both projects as they are, and an empty bucket that is closed."""
        super().__init__(world)
        self.projects = {name: ProjectTruth() for name in PROJECT_IDS}
        self.private = True
        self.objects: dict[str, Stored] = {}
        self.made: dict[str, Stored] = {}
        """Key to what we stored under it last, whatever has become of it."""

        self.history: dict[str, list[Mapping[str, bytes]]] = {
            name: [dict(FILES)] for name in PROJECT_IDS
        }
        """Every state in which a project ever was."""

        self._uploads: dict[str, Upload] = {}
        self._begun = 0

    # Projects.

    def project(self, project_id: str) -> Project | None:
        """Return a project as it is listed now."""
        found = self.projects.get(project_id)
        if found is None:
            return None
        files = tuple(
            ProjectFile(name, len(body), _version(body)) for name, body in found.files.items()
        )
        return Project(found.owner_id, files, complete=True)

    def content(self, project_id: str, file: ProjectFile) -> bytes:
        """Return the listed version of a file. Raises ProviderFault when there is another now."""
        body = self.projects[project_id].files.get(file.name)
        if body is None:
            raise ProviderFault(FaultKind.ANSWERED, 404, "NoSuchKey")
        if _version(body) != file.version:
            raise ProviderFault(FaultKind.ANSWERED, 412, "PreconditionFailed")
        return body

    def edit(self, project_id: str, files: Mapping[str, bytes]) -> None:
        """Let a customer change what is in a project."""
        self.projects[project_id].files = dict(files)
        self.history[project_id].append(dict(files))

    # Archives.

    def begin(self, key: str, metadata: Mapping[str, str]) -> str:
        """Return the id of a new upload."""
        self._begun += 1
        upload_id = f"upload-{self._begun}"
        self._uploads[upload_id] = Upload(key, dict(metadata))
        return upload_id

    def upload(self, upload_id: str) -> Upload:
        """Return an upload. Raises ProviderFault when there is none."""
        found = self._uploads.get(upload_id)
        if found is None:
            raise ProviderFault(FaultKind.ANSWERED, 404, "NoSuchUpload")
        return found

    def drop(self, upload_id: str) -> None:
        """Drop an upload."""
        self._uploads.pop(upload_id, None)

    def complete(self, upload_id: str) -> None:
        """Make the object. Raises ProviderFault when there is one already, or no such upload."""
        found = self.upload(upload_id)
        if found.key in self.objects:
            raise ProviderFault(FaultKind.ANSWERED, 412, "PreconditionFailed")
        del self._uploads[upload_id]
        now_ms = self.world.scheduler.now_ms
        parts = tuple(found.parts)
        made = Stored(b"".join(parts), measure(parts), found.metadata, now_ms)
        self.objects[found.key] = made
        self.made[found.key] = made
        self.archive_made(found.key, made)

    def archive_made(self, key: str, made: Stored) -> None:
        """Hear of an archive that was just made. Raises Violation."""

    def replace_all(self) -> None:
        """Let a colleague put other bytes in the place of every archive, its metadata kept."""
        for key, found in self.objects.items():
            other = (found.body + b"\0",)
            now_ms = self.world.scheduler.now_ms
            self.objects[key] = Stored(other[0], measure(other), found.metadata, now_ms)


@lru_cache(MAX_MEASURED)
def measure(parts: tuple[bytes, ...]) -> Measured:
    """Return what some bytes come to."""
    whole = b"".join(parts)
    of_parts = hashlib.sha256(b"".join(hashlib.sha256(part).digest() for part in parts))
    return Measured(
        len(whole),
        f"sha256:{hashlib.sha256(whole).hexdigest()}",
        base64.b64encode(of_parts.digest()).decode(),
    )


@lru_cache(MAX_MEASURED)
def _version(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()
