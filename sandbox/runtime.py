"""Functions on this machine: the deployed code under AWS's own runtime client.

The emulator's built-in Python worker reports every exception as one class, so a state machine
could not catch by name as it does on AWS. A custom runtime whose `bootstrap` starts
`awslambdaric` behaves as deployed: class names, crashes and timeouts arrive as AWS sends them.
"""

import shlex
import shutil
import sys
from pathlib import Path

_BOOTSTRAP = """\
#!/bin/sh
# The packages of the dependency layer come from this interpreter's own environment.
export PYTHONPATH="$LAMBDA_TASK_ROOT"
exec {python} -m awslambdaric "$_HANDLER"
"""
_EXECUTABLE = 0o755
_NOT_DEPLOYED = shutil.ignore_patterns("__pycache__", "*.pyc", ".*")


def stage_functions(functions: Path, staged: Path) -> Path:
    """A copy of the function code at `staged` that the emulator can run; returns `staged`.

    The stacks build every function's asset from it, with the same excludes as for AWS.
    """
    shutil.rmtree(staged, ignore_errors=True)
    shutil.copytree(functions, staged, ignore=_NOT_DEPLOYED)
    bootstrap = staged / "bootstrap"
    bootstrap.write_text(_BOOTSTRAP.format(python=shlex.quote(sys.executable)))
    bootstrap.chmod(_EXECUTABLE)
    return staged
