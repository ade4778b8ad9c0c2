"""A project as one tar archive: made as a stream, and the same bytes each time it is made."""

import tarfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import PurePosixPath

from providers.s3_api import ProjectFile

_BLOCK_BYTES = tarfile.BLOCKSIZE
# POSIX pax: an archive ends with two blocks of zeros.
_END = b"\0" * (2 * _BLOCK_BYTES)
_MODE = 0o644


class FileChanged(Exception):
    """A file did not have as many bytes as it was listed with; the archive is not complete."""


def unpacking_refusal(files: Iterable[ProjectFile]) -> str:
    """Return why an archive of ``files`` could not be unpacked safely, empty when it can."""
    names = {file.name for file in files}
    if any(not _is_plain(name) for name in names):
        return "a file has a name that is not safe to unpack"
    folders = {str(parent) for name in names for parent in PurePosixPath(name).parents}
    if names & folders:
        return "a file has the name of a folder"
    return ""


def archive(
    folder: str, files: Iterable[ProjectFile], read: Callable[[ProjectFile], Iterator[bytes]]
) -> Iterator[bytes]:
    """Yield a tar of ``files`` below ``folder``, a bounded part at a time.

    What the source does not own (times, owners, modes, order) is fixed, so equal files give equal
    bytes. Names are pax records where they do not fit a plain header.

    Raises FileChanged, and what ``read`` raises.
    """
    for file in sorted(files, key=lambda found: found.name.encode()):
        yield _header(f"{folder}/{file.name}", file.size_bytes)
        yield from _content(file, read(file))
    yield _END


def in_parts(chunks: Iterable[bytes], part_bytes: int) -> Iterator[bytes]:
    """Yield the same bytes in parts of ``part_bytes``, the last one shorter or equal."""
    part = bytearray()
    for chunk in chunks:
        part += chunk
        while len(part) >= part_bytes:
            with memoryview(part) as whole:
                full = bytes(whole[:part_bytes])  # one copy, where a slice would make two
            del part[:part_bytes]
            yield full
    if part:
        yield bytes(part)


def _is_plain(name: str) -> bool:
    if not name.isprintable() or "\\" in name or ":" in name:
        return False
    return all(segment not in ("", ".", "..") for segment in name.split("/"))


def _header(path: str, size_bytes: int) -> bytes:
    member = tarfile.TarInfo(path)
    member.size = size_bytes
    member.mode = _MODE
    return member.tobuf(tarfile.PAX_FORMAT, "utf-8", "strict")


def _content(file: ProjectFile, chunks: Iterator[bytes]) -> Iterator[bytes]:
    left_bytes = file.size_bytes
    for chunk in chunks:
        left_bytes -= len(chunk)
        if left_bytes < 0:
            break
        yield chunk
    if left_bytes != 0:
        raise FileChanged(f"A file of {file.size_bytes} bytes had another length when it was read.")
    yield b"\0" * (-file.size_bytes % _BLOCK_BYTES)
