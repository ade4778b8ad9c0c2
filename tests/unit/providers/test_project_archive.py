"""The archive of a project: a plain tar, the same bytes each time, safe to unpack."""

import io
import tarfile
from collections.abc import Iterator, Mapping

import pytest

from providers.project_archive import FileChanged, archive, in_parts, unpacking_refusal
from providers.s3_api import ProjectFile

CONTENTS = {
    "b.txt": b"second",
    "a/deep/ü.txt": b"\x00\xff" * 700,
    "empty": b"",
    f"{'long/' * 60}name.bin": b"x" * 512,
}


def files_of(contents: Mapping[str, bytes]) -> list[ProjectFile]:
    return [ProjectFile(name, len(content), "v1") for name, content in contents.items()]


def packed(contents: Mapping[str, bytes], chunk_bytes: int = 1000) -> bytes:
    def read(file: ProjectFile) -> Iterator[bytes]:
        content = contents[file.name]
        for start in range(0, len(content), chunk_bytes):
            yield content[start : start + chunk_bytes]

    return b"".join(archive("prj_1", files_of(contents), read))


def test_given_files_when_the_archive_is_unpacked_then_each_is_there_under_the_project() -> None:
    with tarfile.open(fileobj=io.BytesIO(packed(CONTENTS))) as unpacked:
        found = {
            member.name: member_file.read()
            for member in unpacked
            if (member_file := unpacked.extractfile(member))
        }

    assert found == {f"prj_1/{name}": content for name, content in CONTENTS.items()}


def test_given_the_same_files_in_another_order_and_chunks_then_the_bytes_are_the_same() -> None:
    backwards = dict(reversed(CONTENTS.items()))

    assert packed(backwards, chunk_bytes=7) == packed(CONTENTS)


def test_the_archive_tells_nothing_of_the_machine_that_made_it() -> None:
    with tarfile.open(fileobj=io.BytesIO(packed(CONTENTS))) as unpacked:
        members = unpacked.getmembers()

    told = {(one.mtime, one.uid, one.gid, one.uname, one.gname, one.mode) for one in members}
    assert told == {(0, 0, 0, "", "", 0o644)}
    assert all(one.isreg() for one in members)


@pytest.mark.parametrize("content", [b"1234", b"123456"])
def test_given_a_file_of_another_length_than_listed_then_the_archive_is_given_up(
    content: bytes,
) -> None:
    listed = [ProjectFile("a", 5, "v1")]

    with pytest.raises(FileChanged):
        list(archive("prj_1", listed, lambda _file: iter([content])))


def test_given_a_file_that_never_ends_then_no_more_than_listed_is_read() -> None:
    read = 0

    def endless(_file: ProjectFile) -> Iterator[bytes]:
        nonlocal read
        while True:
            read += 1
            yield b"12345"

    with pytest.raises(FileChanged):
        list(archive("prj_1", [ProjectFile("a", 10, "v1")], endless))
    assert read == 3


@pytest.mark.parametrize(
    "name",
    ["/etc/passwd", "../up", "a/../b", "a//b", "a/", ".", "", "a\\b", "C:x", "a\nb", "a\u202eb"],
)
def test_given_a_name_that_leads_elsewhere_then_it_is_refused(name: str) -> None:
    assert "not safe" in unpacking_refusal(files_of({"good": b"", name: b"x"}))


def test_given_a_file_with_the_name_of_a_folder_then_it_is_refused() -> None:
    assert "folder" in unpacking_refusal(files_of({"a": b"x", "a/b": b"y"}))


def test_given_plain_names_then_nothing_is_refused() -> None:
    assert unpacking_refusal(files_of(CONTENTS)) == ""


@pytest.mark.parametrize("chunk_bytes", [1, 3, 10, 25])
def test_parts_are_all_of_one_size_but_the_last_and_lose_nothing(chunk_bytes: int) -> None:
    content = bytes(range(25))
    chunks = (content[at : at + chunk_bytes] for at in range(0, 25, chunk_bytes))

    parts = list(in_parts(chunks, 10))

    assert [len(part) for part in parts] == [10, 10, 5]
    assert b"".join(parts) == content
