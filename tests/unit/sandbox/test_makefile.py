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


@pytest.mark.parametrize(("verdict", "deployed"), [("true", True), ("false", False)])
def test_nothing_is_deployed_before_the_open_runs_were_looked_at_and_can_go_on(
    tmp_path: Path, verdict: str, deployed: bool
) -> None:
    # Given a folder that is set up, whose CDK only leaves a trace.
    shutil.copy(MAKEFILE, tmp_path)
    for name in ("tests/requirements.txt", "functions/requirements.txt", ".python-version"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    cdk = tmp_path / ".venv/bin/cdk"
    cdk.parent.mkdir(parents=True)
    cdk.write_text("#!/bin/sh\ntouch deployed\n")
    cdk.chmod(0o755)
    for name in ("ready", "layer-ready"):
        (tmp_path / name).touch()

    # When it is deployed, after a look at the open runs that ends well or does not.
    made = subprocess.run(
        ["make", "deploy", "READY=ready", "LAYER_READY=layer-ready", f"DRIFT={verdict}"],
        cwd=tmp_path,
        env={"PATH": "/usr/bin:/bin", "MAIL_FROM": "refunds@example.com"},
        capture_output=True,
        text=True,
        check=False,
    )

    # Then it reaches the account in the one case and not in the other.
    assert (tmp_path / "deployed").exists() == deployed, made.stderr
    assert (made.returncode == 0) == deployed
