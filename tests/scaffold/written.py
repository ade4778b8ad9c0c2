"""Files that are written together: none of them before all of them are known to be right."""

import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.scaffold.refusal import RefusedError


def tidied(files: Mapping[str, str], root: Path) -> dict[str, str]:
    """Return Python files as ruff orders and formats them under the project's settings."""
    with TemporaryDirectory() as folder:
        beside = Path(folder)
        shutil.copy(root / "pyproject.toml", beside)
        write_all(files, beside)
        for command in (("check", "--fix-only", "--select", "I"), ("format",)):
            subprocess.run(
                [sys.executable, "-m", "ruff", *command, "--quiet", "--no-cache", "."],
                cwd=beside,
                check=True,
            )
        return {path: (beside / path).read_text(encoding="utf-8") for path in files}


def refuse_existing(files: Iterable[str], root: Path) -> None:
    """Raise RefusedError when one of ``files`` is there already."""
    there = [path for path in files if (root / path).exists()]
    if there:
        raise RefusedError("There already: " + ", ".join(there) + ".")


def write_all(files: Mapping[str, str], root: Path) -> None:
    """Write ``files``, text by path below ``root``."""
    for path, text in files.items():
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
