"""Two sandboxes of one project never share files."""

from pathlib import Path

from sandbox.workspace import shown_at, workspace, write_whole


def test_second_sandbox_of_a_name_gets_its_own_directory(tmp_path: Path) -> None:
    with workspace("demo", tmp_path) as first, workspace("demo", tmp_path) as second:
        assert first != second


def test_directory_is_empty_again_for_the_next(tmp_path: Path) -> None:
    with workspace("demo", tmp_path) as first:
        (first / "aws.log").write_text("old")

    assert (first / "aws.log").exists()
    with workspace("demo", tmp_path) as second:
        assert second == first
        assert list(second.iterdir()) == []


def test_a_file_shown_by_the_first_is_never_written_or_removed_by_a_second(tmp_path: Path) -> None:
    def shown(directory: Path) -> Path:
        return shown_at(directory, "up", "outputs.json", tmp_path)

    with workspace("up", tmp_path) as first:
        write_whole(shown(first), "first")
        with workspace("up", tmp_path) as second:
            write_whole(shown(second), "second")
            shown(second).unlink()

        assert (tmp_path / "outputs.json").read_text() == "first\n"


def test_a_file_is_shown_in_the_same_place_again_once_the_first_is_gone(tmp_path: Path) -> None:
    for _ in range(2):
        with workspace("up", tmp_path) as directory:
            shown = shown_at(directory, "up", "outputs.json", tmp_path)
            assert shown == tmp_path / "outputs.json"


def test_file_is_replaced_whole_and_nothing_else_stays(tmp_path: Path) -> None:
    write_whole(tmp_path / "demo.json", "{}")
    write_whole(tmp_path / "demo.json", '{"a": 1}')

    assert [path.name for path in tmp_path.iterdir()] == ["demo.json"]
    assert (tmp_path / "demo.json").read_text() == '{"a": 1}\n'
