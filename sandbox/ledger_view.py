"""The ledger of a running sandbox, read by the system's own store."""

import random
import time
from typing import TYPE_CHECKING

from adapters.dynamodb_store import DynamoDbStore
from sandbox.clients import aws_client
from sandbox.environment import Sandbox

if TYPE_CHECKING:
    from ledger.store import LedgerStore


def ledger_store(sandbox: Sandbox) -> "LedgerStore":
    """The deployed table behind the domain's own reading rules."""
    return DynamoDbStore(
        aws_client("dynamodb", sandbox.aws_port),
        sandbox.outputs.ledger_table,
        sleep=time.sleep,
        # Only spreads repeated reads in time.
        random=random.random,
    )
