"""Where one sandbox keeps its files, apart from every other sandbox of the same project."""

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sandbox.errors import SandboxError

PROJECT = Path(__file__).parents[1]
STATE = PROJECT / ".sandbox"
# More sandboxes at once than any machine carries.
_MAX_AT_ONCE = 16


@contextmanager
def workspace(name: str, root: Path = STATE) -> Iterator[Path]:
    """An empty directory that is nobody else's until the block ends; its files stay after that.

    It is `root/name`, or `root/name-2` and so on while others of that name are at work. Raises
    SandboxError when there are too many of those.
    """
    root.mkdir(parents=True, exist_ok=True)
    for number in range(1, _MAX_AT_ONCE + 1):
        directory = root / (name if number == 1 else f"{name}-{number}")
        lock = directory.with_suffix(".lock")
        with lock.open("wb") as held:
            try:
                # Released by the kernel however this process ends.
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            shutil.rmtree(directory, ignore_errors=True)
            directory.mkdir()
            yield directory
            return
    raise SandboxError(f"{_MAX_AT_ONCE} sandboxes named {name} are running; stop some first")


def shown_at(directory: Path, name: str, file_name: str, root: Path = STATE) -> Path:
    """Where the workspace `name` that is `directory` shows a file to people and programs.

    `root/file_name` belongs to the first at work alone, by the lock it holds; one beside it shows
    its own in its own directory.
    """
    return (root if directory == root / name else directory) / file_name


def write_whole(path: Path, text: str) -> None:
    """Replaces the file at once: a reader never sees half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f"{path.name}.{os.getpid()}")
    unfinished.write_text(f"{text}\n")
    unfinished.replace(path)
