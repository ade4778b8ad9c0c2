"""The system's own CDK app, deployed to the embedded AWS by the real CDK CLI."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from sandbox.aws import ACCOUNT, REGION, client_environment
from sandbox.errors import CommandError, IncompleteDeploymentError
from sandbox.processes import log_tail, run_command
from sandbox.surroundings import child_environment

# Where the Makefile installs the CLI; node comes from the same virtual environment.
_CDK_CLI = Path("cdk/node_modules/aws-cdk/bin/cdk")
# Synthesis alone takes about 10 s on a small machine; ten times that means it hangs.
_COMMAND_TIMEOUT_SECONDS = 180
_STACKS_AT_ONCE = 4
_QUIET = ("--no-notices", "--no-version-reporting", "--ci")


@dataclass(frozen=True)
class Deployment:
    """One CDK app and the place its assembly, logs and outputs go to."""

    app_dir: Path
    state_dir: Path
    aws_port: int

    @property
    def assembly(self) -> Path:
        return self.state_dir / "cdk.out"


def deploy(deployment: Deployment, context: Mapping[str, str]) -> dict[str, str]:
    """The outputs of all stacks by name, once every stack is deployed.

    Raises CommandError when synthesis or deployment fails.
    """
    with ThreadPoolExecutor(max_workers=2) as pool:
        bootstrap = pool.submit(_bootstrap, deployment)
        _cdk(deployment, "synth", _synth_arguments(deployment, context), deployment.app_dir)
        bootstrap.result()
    outputs = deployment.state_dir / "cdk-outputs.json"
    outputs.unlink(missing_ok=True)
    _cdk(
        deployment,
        "deploy",
        [
            "deploy",
            "--all",
            f"--app={deployment.assembly}",
            "--require-approval=never",
            f"--concurrency={_STACKS_AT_ONCE}",
            "--asset-parallelism",
            f"--outputs-file={outputs}",
        ],
        deployment.app_dir,
    )
    return _merged(outputs)


def required(outputs: Mapping[str, str], name: str) -> str:
    """One stack output. Raises IncompleteDeploymentError when no stack has it."""
    if name not in outputs:
        raise IncompleteDeploymentError(
            f"no stack has an output {name}; there are {sorted(outputs)}"
        )
    return outputs[name]


def _bootstrap(deployment: Deployment) -> None:
    arguments = ["bootstrap", f"aws://{ACCOUNT}/{REGION}"]
    # In the app's folder the CLI would find its cdk.json and synthesize it, without our context.
    _cdk(deployment, "bootstrap", arguments, deployment.state_dir)


def _synth_arguments(deployment: Deployment, context: Mapping[str, str]) -> list[str]:
    values = [f"--context={name}={value}" for name, value in context.items()]
    return [
        "synth",
        "--quiet",
        f"--output={deployment.assembly}",
        *values,
    ]


def _cdk(deployment: Deployment, step: str, arguments: list[str], directory: Path) -> None:
    log_path = deployment.state_dir / f"cdk-{step}.log"
    try:
        status = run_command(
            [str(_venv_bin() / "node"), str(_cdk_cli()), *arguments, *_QUIET],
            directory=directory,
            environment=_environment(deployment),
            log_path=log_path,
            timeout_seconds=_COMMAND_TIMEOUT_SECONDS,
        )
    except subprocess.TimeoutExpired:
        raise CommandError(
            f"cdk {step} took more than {_COMMAND_TIMEOUT_SECONDS} s; "
            f"{log_path} ends:\n{log_tail(log_path)}"
        ) from None
    if status != 0:
        raise CommandError(f"cdk {step} failed; {log_path} ends:\n{log_tail(log_path)}")


def _environment(deployment: Deployment) -> dict[str, str]:
    return {
        **child_environment(deployment.state_dir),
        **client_environment(deployment.aws_port),
        "PATH": os.pathsep.join([str(_venv_bin()), os.environ.get("PATH", os.defpath)]),
        "CDK_DEFAULT_ACCOUNT": ACCOUNT,
        "CDK_DEFAULT_REGION": REGION,
        "CDK_HOME": str(deployment.state_dir / "cdk-home"),
        "CDK_DISABLE_CLI_TELEMETRY": "true",
        "CDK_DISABLE_VERSION_CHECK": "true",
        # The synthesis that counts validates; this one is for speed.
        "CDK_VALIDATION": "false",
    }


def _venv_bin() -> Path:
    return Path(sys.prefix) / "bin"


def _cdk_cli() -> Path:
    cli = Path(sys.prefix) / _CDK_CLI
    if not cli.exists():
        raise CommandError(f"the CDK CLI is not at {cli}; `make setup` installs it")
    return cli


def _merged(outputs: Path) -> dict[str, str]:
    if not outputs.exists():
        return {}
    stacks: dict[str, dict[str, str]] = json.loads(outputs.read_text())
    return {name: value for values in stacks.values() for name, value in values.items()}
