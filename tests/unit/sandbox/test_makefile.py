"""The Makefile removes nothing outside its own folder."""

import shutil
import subprocess
from pathlib import Path

import pytest

MAKEFILE = Path(__file__).parents[3] / "Makefile"


@pytest.mark.parametrize("target", ["clean", "setup", "setup-now"])
def test_a_folder_whose_path_holds_a_space_is_refused_before_anything_is_done(
    tmp_path: Path, target: str
) -> None:
    other, clone = tmp_path / "my", tmp_path / "my clone"
    for folder in (other, clone):
        (folder / ".venv").mkdir(parents=True)
    shutil.copy(MAKEFILE, clone)

    refused = subprocess.run(
        ["make", target], cwd=clone, capture_output=True, text=True, check=False
    )

    assert refused.returncode == 2
    assert "holds a space" in refused.stderr
    assert (other / ".venv").is_dir()
    assert (clone / ".venv").is_dir()
