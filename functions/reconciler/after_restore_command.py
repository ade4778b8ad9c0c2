"""``python -m reconciler.after_restore_command``: after a restore, before anything is sent again.

For a person, with their own credentials; no function runs it. It writes nothing without
``--apply``. Exits 0 when no open run is left that could send a mail twice, 1 when some are, or not
all were looked at, 2 when nothing could be looked at or not all could be written.
"""

import argparse
import random
import sys
import time
from collections.abc import Sequence
from typing import NoReturn

from botocore.exceptions import BotoCoreError, ClientError

from adapters.aws_clients import dynamodb_client
from adapters.dynamodb_store import DynamoDbStore
from adapters.system_clock import RandomIds, SystemClock
from ledger.errors import InvariantBroken, LedgerError
from ledger.ports import Ports
from ledger.store import LedgerStore
from providers.contracts import CONTRACTS
from reconciler.after_restore import AfterRestore, Restored
from reconciler.drift_command import (
    NoLedgerError,
    deployed_table,
    deployment_in_settings,
    go_by_the_deploys_region,
)
from workflows.migrations import VERSIONS

NOTHING_LEFT, LEFT, BROKE_OFF = 0, 1, 2


class NotJoined:
    """The outside of this command, which writes to the ledger and can do nothing else."""

    def contact(self, *_: object, **__: object) -> NoReturn:
        """Refuse."""
        raise InvariantBroken("This command writes to the ledger and does nothing else.")

    start = status = ring = contact


def main(arguments: Sequence[str] | None = None) -> int:
    """Return the exit status, after writing what was found and done to the screen."""
    asked = _arguments(arguments)
    go_by_the_deploys_region()
    try:
        table = asked.table or _deployed_table(asked.deployment)
        store = DynamoDbStore(dynamodb_client(), table, time.sleep, random.SystemRandom().random)
        restored = Restored(VERSIONS, CONTRACTS)
        found = restored.look(store)
        _show(table, found, apply=asked.apply)
        if asked.apply:
            _apply(restored, store, found)
    except (LedgerError, BotoCoreError, ClientError, NoLedgerError) as error:
        sys.stderr.write(f"This broke off; do not lift anything, and run it again: {error}\n")
        return BROKE_OFF
    left = not found.complete or found.unreadable
    waiting = any(not run.is_told for run in found.runs)
    return LEFT if left or (waiting and not asked.apply) else NOTHING_LEFT


def _deployed_table(deployment: str) -> str:
    table = deployed_table(deployment)
    if table is None:
        raise NoLedgerError(f"nothing is deployed as {deployment}")
    return table


def _apply(restored: Restored, store: LedgerStore, found: AfterRestore) -> None:
    outside = NotJoined()
    ports = Ports(
        store=store,
        clock=SystemClock(),
        ids=RandomIds(),
        providers={},
        directory=outside,
        executions=outside,
        doorbell=outside,
    )
    for run in found.runs:
        restored.send_to_review(ports, run.run_id)
    sys.stdout.write(f"{len(found.runs)} runs wait for a person.\n")


def _arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="make after-restore",
        description="Find the open runs that may have sent a mail since, and let a person decide.",
    )
    parser.add_argument("--table", help="the ledger's table; by default that of the deployment")
    parser.add_argument("--deployment", default=deployment_in_settings(), help="as in cdk.json")
    parser.add_argument("--apply", action="store_true", help="write; without it, only look")
    return parser.parse_args(arguments)


def _show(table: str, found: AfterRestore, *, apply: bool) -> None:
    for run in found.runs:
        told = "waits for a person already" if run.is_told else run.state.replace("_", " ")
        sys.stdout.write(f"{run.run_id}  {run.workflow}  {told}  {', '.join(run.mails)}\n")
    for run_id in found.unreadable:
        sys.stdout.write(f"{run_id}  cannot be read: nothing is known of it\n")
    sys.stdout.write(f"{len(found.runs)} open runs in {table} may have sent a mail since.\n")
    if not found.complete:
        sys.stdout.write("Not all open runs were looked at: lift nothing on this.\n")
    if not apply and any(not run.is_told for run in found.runs):
        sys.stdout.write("Nothing was written. With APPLY=1 they wait for a person.\n")


if __name__ == "__main__":
    sys.exit(main())
