"""Functions are staged as deployed, plus what starts them on this machine."""

import os
import subprocess
import sys
from pathlib import Path

from sandbox.runtime import stage_functions


def _functions(root: Path) -> Path:
    functions = root / "functions"
    (functions / "ledger" / "__pycache__").mkdir(parents=True)
    (functions / "ledger" / "run.py").write_text("STATE = 'open'\n")
    (functions / "ledger" / "__pycache__" / "run.pyc").write_text("")
    return functions


def test_staged_code_is_the_code_without_what_is_not_deployed(tmp_path: Path) -> None:
    staged = stage_functions(_functions(tmp_path), tmp_path / "staged")

    files = sorted(str(path.relative_to(staged)) for path in staged.rglob("*") if path.is_file())
    assert files == ["bootstrap", "ledger/run.py"]


def test_staging_again_leaves_nothing_of_before(tmp_path: Path) -> None:
    functions = _functions(tmp_path)
    stage_functions(functions, tmp_path / "staged")
    (functions / "ledger" / "run.py").rename(functions / "ledger" / "effect.py")

    staged = stage_functions(functions, tmp_path / "staged")

    assert [path.name for path in (staged / "ledger").iterdir()] == ["effect.py"]


def test_bootstrap_starts_the_runtime_client_for_the_handler(tmp_path: Path) -> None:
    staged = stage_functions(_functions(tmp_path), tmp_path / "staged")
    bootstrap = staged / "bootstrap"
    environment = {
        "LAMBDA_TASK_ROOT": str(staged),
        "_HANDLER": "ledger.run.handler",
        # Nobody listens there: the client starts, asks for work, and says so.
        "AWS_LAMBDA_RUNTIME_API": "127.0.0.1:9",
    }

    ended = subprocess.run(
        [bootstrap], env=environment, capture_output=True, text=True, check=False, timeout=60
    )

    assert os.access(bootstrap, os.X_OK)
    assert sys.executable in bootstrap.read_text()
    assert "awslambdaric" in ended.stderr + ended.stdout
