"""``python -m reconciler.drift_command``: look at the open runs of an account before a deploy.

For a developer or a pipeline, with their own credentials; no function runs it. Exits 0 when every
open run can go on, 1 when one would be stuck or not all were looked at, 2 when nothing could be
looked at.
"""

import argparse
import json
import os
import random
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import boto3
from botocore.exceptions import BotoCoreError, ClientError

from adapters.aws_clients import dynamodb_client
from adapters.dynamodb_store import DynamoDbStore
from ledger.errors import LedgerError
from reconciler.drift import Drift, Standing, find_drift
from workflows.migrations import VERSIONS

MAY_DEPLOY, WOULD_STRAND, COULD_NOT_LOOK = 0, 1, 2
TABLE_OUTPUT = "LedgerTableName"
CDK_SETTINGS = Path("cdk.json")
# More than a person reads on a screen; ``--json`` holds all.
MAX_ROWS = 200


class NoLedgerError(Exception):
    """The deployment is there and does not say where its ledger is."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Return the exit status, after writing what was found to the screen."""
    asked = _arguments(arguments)
    go_by_the_deploys_region()
    try:
        table = asked.table or deployed_table(asked.deployment)
        if table is None:
            drift = Drift(runs=(), complete=True)
        else:
            store = DynamoDbStore(
                dynamodb_client(), table, time.sleep, random.SystemRandom().random
            )
            drift = find_drift(store, VERSIONS)
    except (LedgerError, BotoCoreError, ClientError, NoLedgerError) as error:
        sys.stderr.write(f"The open runs could not be looked at, so nothing is known: {error}\n")
        return COULD_NOT_LOOK
    if asked.json:
        sys.stdout.write(f"{json.dumps(_as_json(table, drift), indent=2)}\n")
    else:
        _show(table, drift)
    return MAY_DEPLOY if drift.may_deploy else WOULD_STRAND


def go_by_the_deploys_region() -> None:
    """Look where the CDK deploys: it goes by ``AWS_REGION`` first, which boto3 does not read."""
    region = os.environ.get("AWS_REGION")
    if region:
        boto3.setup_default_session(region_name=region)


def deployed_table(deployment: str) -> str | None:
    """Return the name of a deployment's ledger table, None before its first deploy.

    Raises ClientError when the account does not say, and NoLedgerError.
    """
    stack = f"{deployment}-ledger"
    # Its types are not among those that a developer's machine has.
    client = cast("Any", boto3.client)("cloudformation")
    try:
        found = client.describe_stacks(StackName=stack)["Stacks"][0]
    except ClientError as error:
        # CloudFormation has no code of its own for it; any other refusal must not pass for it.
        said = error.response["Error"]
        if said["Code"] == "ValidationError" and "does not exist" in said["Message"]:
            return None
        raise
    outputs = {one["OutputKey"]: one["OutputValue"] for one in found.get("Outputs", [])}
    if TABLE_OUTPUT not in outputs:
        raise NoLedgerError(f"stack {stack} has no output {TABLE_OUTPUT}; name it by --table")
    return str(outputs[TABLE_OUTPUT])


def _arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="make drift", description="Compare open runs with the versions in this folder."
    )
    parser.add_argument("--table", help="the ledger's table; by default that of the deployment")
    parser.add_argument("--deployment", default=deployment_in_settings(), help="as in cdk.json")
    parser.add_argument("--json", action="store_true", help="every run, for a program")
    return parser.parse_args(arguments)


def deployment_in_settings() -> str:
    """Return the deployment that the CDK goes by."""
    settings = json.loads(CDK_SETTINGS.read_text(encoding="utf-8"))
    return str(settings["context"]["deployment"])


def _as_json(table: str | None, drift: Drift) -> dict[str, object]:
    return {
        "table": table,
        "complete": drift.complete,
        "may_deploy": drift.may_deploy,
        "runs": [found.model_dump(mode="json") for found in drift.runs],
    }


def _show(table: str | None, drift: Drift) -> None:
    # A developer's machine has it; the functions' layer does not, and no function comes here.
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False, markup=False)
    if table is None:
        region = boto3.DEFAULT_SESSION.region_name if boto3.DEFAULT_SESSION else None
        console.print(f"Nothing is deployed yet in {region}, so no run is open there.")
        return
    counts = Table("version", *(found.replace("_", " ") for found in Standing))
    for version, standings in drift.counts().items():
        counts.add_row(version or "unreadable", *(str(standings[found]) for found in Standing))
    runs = Table("run", "version", "state", "stands", "goes on as", "because")
    for found in drift.runs[:MAX_ROWS]:
        stands = found.standing.replace("_", " ")
        row = (found.workflow, found.state, stands, found.goes_on_as, found.reason)
        runs.add_row(found.run_id, *row)
    region = boto3.DEFAULT_SESSION.region_name if boto3.DEFAULT_SESSION else None
    console.print(f"{len(drift.runs)} open runs in {table}, {region}.")
    if drift.runs:
        console.print(counts)
        console.print(runs)
    if len(drift.runs) > MAX_ROWS:
        console.print(f"{len(drift.runs) - MAX_ROWS} more are not shown; --json holds them all.")
    console.print(_verdict(drift))


def _verdict(drift: Drift) -> str:
    if not drift.complete:
        return "Not all open runs were looked at: do not deploy on this."
    stuck = sum(found.standing is Standing.STUCK for found in drift.runs)
    if stuck:
        return (
            f"{stuck} would stop for a person. Keep their version registered until they have "
            "ended, or register a migration (docs/versions.md)."
        )
    return "Every open run can go on."


if __name__ == "__main__":
    sys.exit(main())
