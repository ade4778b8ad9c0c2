"""The CDK CLI is run where it finds what it needs, and nothing that misleads it."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from sandbox import deploy as deploying
from sandbox.deploy import Deployment, deploy
from sandbox.errors import CommandError


class FakeCli:
    """Notes where each step runs; like the CLI it leaves the outputs of the deployment."""

    def __init__(self) -> None:
        self.directories: dict[str, Path] = {}
        self.environments: dict[str, Mapping[str, str]] = {}
        self.status = 0

    def run(
        self,
        command: list[str],
        directory: Path,
        environment: Mapping[str, str],
        log_path: Path,
        timeout_seconds: float,
    ) -> int:
        assert timeout_seconds > 0
        step = command[2]
        self.directories[step] = directory
        self.environments[step] = environment
        log_path.write_text(f"the last line of {step}\n")
        for argument in command:
            if argument.startswith("--outputs-file="):
                outputs = {"Stack": {"ApiUrl": "http://api.invalid"}}
                Path(argument.partition("=")[2]).write_text(json.dumps(outputs))
        return self.status


@pytest.fixture
def cli(monkeypatch: pytest.MonkeyPatch) -> FakeCli:
    fake = FakeCli()
    monkeypatch.setattr(deploying, "run_command", fake.run)
    monkeypatch.setattr(deploying, "_cdk_cli", lambda: Path("cdk"))
    return fake


@pytest.fixture
def deployment(tmp_path: Path) -> Deployment:
    app_dir, state_dir = tmp_path / "app", tmp_path / "app" / ".sandbox" / "demo"
    state_dir.mkdir(parents=True)
    (app_dir / "cdk.json").write_text('{"app": "python3 app.py"}')
    return Deployment(app_dir, state_dir, aws_port=4566)


def test_bootstrap_runs_where_no_app_is_found_and_the_rest_in_the_app(
    cli: FakeCli, deployment: Deployment
) -> None:
    outputs = deploy(deployment, {})

    assert outputs == {"ApiUrl": "http://api.invalid"}
    assert not (cli.directories["bootstrap"] / "cdk.json").exists()
    assert cli.directories["synth"] == cli.directories["deploy"] == deployment.app_dir


def test_every_step_reaches_the_embedded_aws_alone_and_writes_without_colours(
    cli: FakeCli, deployment: Deployment
) -> None:
    deploy(deployment, {})

    for environment in cli.environments.values():
        assert environment["AWS_ENDPOINT_URL"] == "http://127.0.0.1:4566"
        assert "127.0.0.1" in environment["NO_PROXY"]
        assert environment["NO_COLOR"] == "1"
        assert Path(environment["CDK_HOME"]).is_relative_to(deployment.state_dir)


def test_a_step_that_fails_is_named_with_its_last_lines(
    cli: FakeCli, deployment: Deployment
) -> None:
    cli.status = 1

    with pytest.raises(CommandError, match=r"cdk synth failed.*\n.*the last line of synth"):
        deploy(deployment, {})
