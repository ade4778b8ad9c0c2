"""The part of S3 that the artifacts need, and where a customer's project is read from."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class ProjectFile:
    """One file of a project as it was listed. ``version`` changes whenever its bytes do."""

    name: str
    size_bytes: int
    version: str


@dataclass(frozen=True)
class Project:
    """A project as its owner's system holds it now."""

    owner_id: str
    files: tuple[ProjectFile, ...]
    complete: bool
    """Whether every file is listed. One of too many files is not."""


class ProjectSource(Protocol):
    """The system that owns projects. It is only read."""

    def project(self, project_id: str) -> Project | None:
        """Return owner and files, None when there is no such project. Raises ProviderFault."""

    def read(self, project_id: str, file: ProjectFile) -> Iterator[bytes]:
        """Yield the bytes of exactly the listed version, in order, a bounded part at a time.

        Raises ProviderFault, also when the file is no longer what was listed.
        """


@dataclass(frozen=True)
class StoredPart:
    """A part that the store has taken. ``checksum`` is its SHA-256 in base64."""

    number: int
    tag: str
    checksum: str


@dataclass(frozen=True)
class StoredArtifact:
    """An object as the store shows it, without its content.

    ``checksum`` is the store's own: the SHA-256, in base64, over the SHA-256 of each part.
    """

    size_bytes: int
    checksum: str
    metadata: Mapping[str, str]
    stored_at_ms: int


class ArtifactStore(Protocol):
    """One bucket. An object comes into being only by ``complete``, and then all at once."""

    def begin(self, key: str, metadata: Mapping[str, str]) -> str:
        """Return the id of a new upload. Nothing is to be seen of it. Raises ProviderFault."""

    def put_part(self, key: str, upload_id: str, number: int, content: bytes) -> StoredPart:
        """Return the part as taken, its checksum verified by the store. Raises ProviderFault."""

    def complete(
        self, key: str, upload_id: str, parts: Sequence[StoredPart], checksum: str, size_bytes: int
    ) -> None:
        """Make the object of its parts, unless there is one under ``key``. Raises ProviderFault."""

    def abort(self, key: str, upload_id: str) -> None:
        """Drop an upload that will not be completed. Raises ProviderFault."""

    def find(self, key: str) -> StoredArtifact | None:
        """Return the object under ``key``, None when there is none. Raises ProviderFault."""

    def is_private(self) -> bool:
        """Return whether the bucket refuses every form of public access. Raises ProviderFault."""
