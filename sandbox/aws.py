"""The embedded AWS: one `ministack` process on a free loopback port."""

import sys
from collections.abc import Mapping
from pathlib import Path

import httpx

from sandbox.ports import LOOPBACK
from sandbox.processes import Server, start_server
from sandbox.surroundings import child_environment

REGION = "us-east-1"
ACCOUNT = "000000000000"
# The emulator checks no signature; a key that opens nothing keeps real ones out of reach.
ACCESS_KEY = "test"
_PROBE_TIMEOUT_SECONDS = 2.0


def endpoint(port: int) -> str:
    """By address, not by name: with a name S3 puts the bucket in the host, which no DNS knows."""
    return f"http://{LOOPBACK}:{port}"


def client_environment(port: int) -> dict[str, str]:
    """What makes any AWS SDK or tool talk to the embedded AWS and to nothing else."""
    return {
        "AWS_ENDPOINT_URL": endpoint(port),
        "AWS_ACCESS_KEY_ID": ACCESS_KEY,
        "AWS_SECRET_ACCESS_KEY": ACCESS_KEY,
        "AWS_REGION": REGION,
        "AWS_DEFAULT_REGION": REGION,
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_CONFIG_FILE": "/dev/null",
        "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
    }


def start_aws(state_dir: Path, mail_url: str) -> Server:
    """A ready, empty AWS with its files under `state_dir`; functions send mail by `mail_url`."""
    return start_server(
        name="ministack",
        command=lambda _port: [sys.executable, "-m", "ministack"],
        environment=lambda port: _server_environment(port, state_dir, mail_url),
        ready=_answers,
        log_path=state_dir / "aws.log",
    )


def _server_environment(port: int, state_dir: Path, mail_url: str) -> Mapping[str, str]:
    return {
        **child_environment(state_dir),
        # Function workers inherit these, and so reach this AWS.
        **client_environment(port),
        "AWS_ENDPOINT_URL_SESV2": mail_url,
        "GATEWAY_PORT": str(port),
        "BIND_HOST": LOOPBACK,
        "MINISTACK_HOST": "localhost",
        "STATE_DIR": str(state_dir / "aws-state"),
        # Listeners and container clean-up nobody here uses.
        "IOT_MTLS_ENABLED": "0",
        "SFTP_ENABLED": "0",
        "DOCKER_HOST": f"unix://{state_dir}/no-docker.sock",
    }


def _answers(port: int) -> bool:
    try:
        answer = httpx.get(
            f"{endpoint(port)}/_ministack/health", timeout=_PROBE_TIMEOUT_SECONDS, trust_env=False
        )
    except httpx.HTTPError:
        return False
    return answer.is_success
