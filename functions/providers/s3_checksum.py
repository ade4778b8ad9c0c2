"""What an archive comes to: its size, its digest, and the checksum that S3 makes of its parts."""

import base64
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Measured:
    """An archive as it was read: its size, its SHA-256, and the one over those of its parts."""

    size_bytes: int
    digest: str
    checksum: str


class Tally:
    """Measures an archive as it passes."""

    def __init__(self) -> None:
        """Start before the first part."""
        self._size_bytes = 0
        self._whole = hashlib.sha256()
        self._parts = hashlib.sha256()

    def add(self, part: bytes) -> None:
        """Count one part."""
        self._size_bytes += len(part)
        self._whole.update(part)
        # S3 User Guide, "Checking object integrity": that of several parts is made of their own.
        self._parts.update(hashlib.sha256(part).digest())

    def of(self, parts: Iterator[bytes]) -> Measured:
        """Return what all of ``parts`` come to."""
        for part in parts:
            self.add(part)
        return self.result()

    def result(self) -> Measured:
        """Return what was counted so far."""
        return Measured(
            self._size_bytes,
            f"sha256:{self._whole.hexdigest()}",
            base64.b64encode(self._parts.digest()).decode(),
        )
