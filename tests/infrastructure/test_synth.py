"""The synth that counts: the real command line, with every check on and no network."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.infrastructure.conftest import ROOT

# A synth takes about 5 s; many times that on a busy machine.
SYNTH_TIMEOUT_SECONDS = 240
NO_NETWORK = ["unshare", "--user", "--map-root-user", "--net"]


def without_network() -> list[str]:
    """Return a prefix that takes the network from a command, empty where there is no such."""
    if shutil.which(NO_NETWORK[0]) is None:
        return []
    tried = subprocess.run([*NO_NETWORK, "true"], capture_output=True, check=False)
    return NO_NETWORK if tried.returncode == 0 else []


def synth(outdir: Path, home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Return the outcome of ``cdk synth --strict`` without network, account or settings."""
    cli = Path(sys.prefix, "cdk/node_modules/aws-cdk/bin/cdk")
    node = Path(sys.prefix, "bin/node")
    environment = {
        "PATH": f"{Path(sys.prefix, 'bin')}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(home),
        "CDK_DISABLE_CLI_TELEMETRY": "true",
        "CDK_DISABLE_VERSION_CHECK": "true",
        "AWS_EC2_METADATA_DISABLED": "true",
    }
    command = [str(node), str(cli), "synth", "--quiet", "--strict", "--no-notices"]
    return subprocess.run(
        [*without_network(), *command, f"--output={outdir}", *arguments],
        capture_output=True,
        check=False,
        cwd=ROOT,
        env=environment,
        text=True,
        timeout=SYNTH_TIMEOUT_SECONDS,
    )


def test_the_synth_passes_every_check_without_network_or_account(
    tmp_path: Path, layer_path: Path
) -> None:
    outdir = tmp_path / "out"

    done = synth(outdir, tmp_path, f"--context=layer_path={layer_path}")

    assert done.returncode == 0, done.stderr
    manifest = json.loads((outdir / "manifest.json").read_text())
    assert "missing" not in manifest
    environments = {
        artifact["environment"]
        for artifact in manifest["artifacts"].values()
        if artifact["type"] == "aws:cloudformation:stack"
    }
    assert environments == {"aws://unknown-account/unknown-region"}


def test_a_finding_fails_the_synth(tmp_path: Path, layer_path: Path) -> None:
    """A sender with a wildcard in it would be a permission that nobody accepted."""
    arguments = (f"--context=layer_path={layer_path}", "--context=mail_from=*@example.com")

    done = synth(tmp_path / "out", tmp_path, *arguments)

    assert done.returncode != 0
    assert "AwsSolutions-IAM5" in done.stderr


def test_a_missing_layer_is_named_with_the_command_that_builds_it(tmp_path: Path) -> None:
    done = synth(tmp_path / "out", tmp_path, f"--context=layer_path={tmp_path}")

    assert done.returncode != 0
    assert "run 'make layer' first" in done.stderr
