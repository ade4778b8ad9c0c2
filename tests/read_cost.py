"""What recovery reads, in numbers: the same among a thousand open runs as among a hundred thousand.

``python -m tests.read_cost`` fills a table twice and prints both. The requests and the items that
they return are counted at the client. What DynamoDB charges is computed by its own rule, since an
emulator charges nothing: a query costs what it returns, for its key condition is a range.
"""

import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple, cast
from unittest import mock

# The functions' import root, as pytest and Lambda have it.
sys.path.insert(0, str(Path(__file__).parents[1] / "functions"))

from moto.dynamodb.models import dynamodb_backends
from moto.dynamodb.models.table import Table

from adapters.due_shards import due_shard
from adapters.dynamodb_breakers import DynamoDbBreakers
from adapters.dynamodb_items import head_item, key
from adapters.dynamodb_store import DynamoDbStore
from ledger.transitions import EffectState
from reconciler.reconcile_worker import look_after
from reconciler.sweeper import nominate
from runtime.breaker_budget import Budget
from runtime.guarded_providers import GuardedProviders
from tests.builders import a_change, a_run, an_attempt
from tests.fakes.clock import START_MS, FakeClock, FakeTimeLeft
from tests.fakes.nominations import FakeNominations
from tests.ledger_table import FAKE_ACCOUNT, TABLE_NAME, ledger_table
from tests.unit.ledger.sample import DEFINITION, REQUEST, a_refund
from tests.unit.ledger.support import World

DUE = 10
SIZES = (1_000, 100_000)
READS = frozenset({"get_item", "query"})
UNIT_BYTES = 4_096
MOTO_ACCOUNT = "123456789012"


class Cost(NamedTuple):
    """What was read."""

    requests: int
    items: int
    read_units: float
    """By DynamoDB's rule: 4 KB of what a request returns, half as much if not consistent."""


@dataclass
class CountingClient:
    """A DynamoDB client whose reads are counted."""

    client: Any
    reads: list[tuple[int, float]] = field(default_factory=list)
    """Items and units of each request."""

    def __getattr__(self, operation: str) -> Any:
        found = getattr(self.client, operation)
        if operation not in READS:
            return found

        def counted(**request: Any) -> Any:
            answer = found(**request)
            items = answer.get("Items", [answer["Item"]] if "Item" in answer else [])
            full = -(-len(json.dumps(items)) // UNIT_BYTES)
            self.reads.append((len(items), full if request.get("ConsistentRead") else full / 2))
            return answer

        return counted

    def take(self) -> Cost:
        """Return what was read since the last time."""
        reads, self.reads = self.reads, []
        return Cost(len(reads), sum(items for items, _ in reads), sum(units for _, units in reads))


class Measured(NamedTuple):
    """What recovery read, among so many open runs."""

    open_runs: int
    finding: Cost
    """One tick of the sweeper, which names the effects that are due."""

    looking_after: Cost
    """The workers, on what was named."""


def measure(open_runs: int) -> Measured:
    """Return what it costs to find and look after ``DUE`` effects among so many open runs."""
    with ledger_table() as plain, _no_copies():
        client = CountingClient(plain)
        world = World()
        store = DynamoDbStore(cast("Any", client), TABLE_NAME, lambda _: None, lambda: 0.0)
        _open_later(open_runs - DUE)
        for number in range(DUE):
            _open_in_doubt(store, f"run_due{number}")
        client.take()

        queue, clock = FakeNominations(), FakeClock(START_MS)
        left = FakeTimeLeft(clock, START_MS + 60_000)
        tick = nominate(store, clock, queue, left)
        if tick != (DUE, DUE):
            raise AssertionError(f"{tick} is not what was put into the table.")
        finding = client.take()

        breakers = DynamoDbBreakers(cast("Any", client), TABLE_NAME)
        ports = world.ports_over(store)
        guarded = GuardedProviders(ports.providers, Budget(breakers, clock))
        for message in queue.waiting:
            look_after(replace(ports, providers=guarded), left, message.body)
        if world.payments.look_ups != DUE:
            raise AssertionError("An effect that was due was not looked up.")
        return Measured(open_runs, finding, client.take())


def _no_copies() -> AbstractContextManager[object]:
    """Let moto copy no table before each transaction, for the case that it fails: none does."""
    return mock.patch.object(Table, "__deepcopy__", lambda table, _memo: table, create=True)


def _open_in_doubt(store: DynamoDbStore, run_id: str) -> None:
    """Put a run into the ledger whose refund has lost its answer, due now."""
    lapsed = an_attempt(claimed_at_ms=START_MS - 90_000, lease_until_ms=START_MS - 30_000)
    refund = a_refund(EffectState.UNKNOWN, attempts=(lapsed,), unsettled_since_ms=START_MS - 30_000)
    run = a_run(run_id=run_id, workflow=DEFINITION.version, request=REQUEST, due_at_ms=START_MS)
    store.commit(a_change(f"of-{run_id}", run=run, effects=(refund,)))


def _open_later(count: int) -> None:
    """Put runs that are due later into the table, past its API: a request each takes too long."""
    table = dynamodb_backends[MOTO_ACCOUNT][FAKE_ACCOUNT["AWS_DEFAULT_REGION"]].tables[TABLE_NAME]
    for item in _heads(count):
        table.put_item(dict(item))


def _heads(count: int) -> Iterator[Mapping[str, Any]]:
    head = head_item(a_change(run=a_run(due_at_ms=START_MS + 1)))
    for number in range(count):
        run_id = f"run_open{number}"
        own = {"due_shard": {"S": due_shard(run_id)}, **key(run_id, "#HEAD")}
        yield {**head, **own, "due_at_ms": {"N": str(START_MS + 1 + number)}}


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")


def main() -> int:
    """Print the costs; return 0 if they are the same whatever is open."""
    measured = [measure(size) for size in SIZES]
    _say(f"{'open runs':>10}  {'to find 10 due effects':>32}  {'to look after them':>32}")
    for found in measured:
        costs = [
            f"{cost.requests} requests {cost.items} items {cost.read_units:g} units"
            for cost in (found.finding, found.looking_after)
        ]
        _say(f"{found.open_runs:>10}  {costs[0]:>32}  {costs[1]:>32}")
    same = len({found[1:] for found in measured}) == 1
    _say("The same." if same else "Not the same!")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
