"""Archive one project in a process of its own and say what that took, as JSON.

The process loads what a stage's function loads, so its peak is that of the function.
"""

import json
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import cast

import boto3

import runtime.stage  # noqa: F401  loaded by every stage
from ledger.provider import ProviderCall, ProviderRecord
from ledger.record import Scalar
from providers.s3_artifacts import S3Artifacts
from providers.s3_client import S3_CONFIG, S3ArtifactStore, S3Client
from providers.s3_projects import S3Projects
from tests.fakes.archive_bench import ARTIFACTS, PROJECTS
from tests.fakes.benches import Bench


def main() -> None:
    """Archive the project ``prj_1`` of the S3 that the environment names."""
    client = cast("S3Client", boto3.client("s3", config=S3_CONFIG))
    provider = S3Artifacts(
        S3ArtifactStore(client, ARTIFACTS),
        S3Projects(client, PROJECTS),
        lambda: 0.0,  # how busy this machine is says nothing about a function's time
    )
    bound: dict[str, Scalar] = {
        "customer_id": "cus_1",
        "project_id": "prj_1",
        "scope": "project",
        "schema": 1,
    }
    call = Bench(provider, "archive", bound).frozen_call()
    began = time.monotonic()
    told = provider.call(call)
    call_seconds = time.monotonic() - began
    found = _found(provider, call)
    said: Mapping[str, object] = {
        "digest": told.fields["digest"],
        "found": dict(found.fields),
        "call_seconds": round(call_seconds, 1),
        "peak_mib": _peak_kib() // 1024,
    }
    json.dump(said, sys.stdout)


def _peak_kib() -> int:
    """Return the most memory that this program has held.

    Not ``ru_maxrss``: that begins with what the process held which started this one.
    """
    status = Path("/proc/self/status").read_text(encoding="ascii")
    (line,) = (line for line in status.splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1])


def _found(provider: S3Artifacts, call: ProviderCall) -> ProviderRecord:
    (found,) = provider.look_up(call).records
    return found


if __name__ == "__main__":
    main()
