"""Which open runs could not go on after a deploy: each is read, and compared with what is deployed.

A look and no lock: a run that is opened or changed meanwhile is not in it. What it misses stops for
a person, as any run whose version is gone.
"""

from collections import Counter
from collections.abc import Iterator
from enum import StrEnum

from ledger.contract import LookUp
from ledger.errors import InvariantBroken
from ledger.instance import is_stuck
from ledger.migration import plan_move
from ledger.record import Record
from ledger.run import RunLedger
from ledger.store import LedgerStore
from ledger.transitions import RunState
from ledger.versions import Versions
from providers.contracts import CONTRACTS

# Every open run has a time at which it is looked after, so it is in the index of what is due by
# then: the end of the year 9999.
END_OF_TIME_MS = 253_402_300_799_999
PAGE_SIZE_RUNS = 100
# Each is one consistent read of some milliseconds. With more, the deploy is not held up for hours
# but refused: it was not looked at to the end.
MAX_RUNS = 100_000


class Standing(StrEnum):
    """How an open run stands to the versions that are about to be deployed, the worst first."""

    STUCK = "stuck"  # it would stop for a person, with this reason
    NEEDS_FRESH_APPROVAL = "needs_fresh_approval"  # something else would be done than was approved
    MIGRATABLE = "migratable"  # its version goes, and a registered migration leads on
    COMPATIBLE = "compatible"  # its own version stays, and does what it did


class OpenRun(Record):
    """One open run. Opaque ids only, nothing personal."""

    run_id: str
    workflow: str
    state: str
    standing: Standing
    goes_on_as: str
    """The version that it goes on by; empty when there is none."""

    reason: str


class Drift(Record):
    """All open runs, the worst first."""

    runs: tuple[OpenRun, ...]
    complete: bool
    """Whether every open run was read; there may be more of them than are read at most."""

    @property
    def may_deploy(self) -> bool:
        """Return whether no run would be stuck, as far as all of them were looked at."""
        return self.complete and all(found.standing is not Standing.STUCK for found in self.runs)

    def counts(self) -> dict[str, Counter[Standing]]:
        """Return how many runs of each version stand how."""
        counts: dict[str, Counter[Standing]] = {}
        for found in self.runs:
            counts.setdefault(found.workflow, Counter())[found.standing] += 1
        return dict(sorted(counts.items()))


def find_drift(store: LedgerStore, versions: Versions, max_runs: int = MAX_RUNS) -> Drift:
    """Return how every open run stands to ``versions``, after reading each of them consistently.

    Raises LedgerUnavailable when the store gave no answer.
    """
    found: dict[str, OpenRun] = {}
    read: set[str] = set()
    for run_id in open_run_ids(store):
        if run_id in read:  # it was changed while others were read, and has moved on in the index
            continue
        if len(read) == max_runs:
            return Drift(runs=_worst_first(found), complete=False)
        read.add(run_id)
        open_run = _read(store, versions, run_id)
        if open_run is not None:
            found[run_id] = open_run
    return Drift(runs=_worst_first(found), complete=True)


def open_run_ids(store: LedgerStore) -> Iterator[str]:
    """Yield every open run, by pages, and some that have ended; one that moves may come twice."""
    for shard in store.due_shards:
        cursor: str | None = None
        while True:  # bounded by the reader, and by the number of runs
            page = store.due(shard, END_OF_TIME_MS, PAGE_SIZE_RUNS, cursor)
            yield from page.run_ids
            cursor = page.cursor
            if cursor is None:
                break


def _worst_first(found: dict[str, OpenRun]) -> tuple[OpenRun, ...]:
    order = list(Standing)
    return tuple(
        sorted(
            found.values(),
            key=lambda run: (order.index(run.standing), run.workflow, run.run_id),
        )
    )


def _read(store: LedgerStore, versions: Versions, run_id: str) -> OpenRun | None:
    """Return how a run stands, None when it is not open."""
    try:
        ledger = store.load(run_id)
    except InvariantBroken as broken:
        return OpenRun(
            run_id=run_id,
            workflow="",
            state="",
            standing=Standing.STUCK,
            goes_on_as="",
            reason=f"it cannot be read by the code that is about to be deployed: {broken}",
        )
    if ledger is None or not ledger.run.is_open:
        return None
    return standing_of(ledger, versions)


def standing_of(ledger: RunLedger, versions: Versions) -> OpenRun:
    """Return how an open run stands to ``versions``."""
    run = ledger.run
    standing, goes_on_as, reason = _compare(ledger, versions)
    return OpenRun(
        run_id=run.run_id,
        workflow=run.workflow,
        state=run.state.value,
        standing=standing,
        goes_on_as=goes_on_as,
        reason=reason,
    )


def _compare(ledger: RunLedger, versions: Versions) -> tuple[Standing, str, str]:
    version = ledger.run.workflow
    own = versions.definition(version)
    way = versions.way_on(version) if own is None else None
    new = way.new if way else own
    if new is None:
        return (
            Standing.STUCK,
            "",
            f"{version} is not registered, and no migration leads from it to a version that is",
        )
    move = plan_move(ledger, own, new, way.migration.checkpoints if way else {})
    owed = _owed_by_a_person(ledger) if way else ""
    if move.obstacles or owed:
        return Standing.STUCK, "", "; ".join([*move.obstacles, *filter(None, [owed])])
    if move.asks_again:
        return Standing.NEEDS_FRESH_APPROVAL, new.version, move.asks_again
    if way is None:
        return Standing.COMPATIBLE, new.version, ""
    unsettled = ", ".join(found.operation for found in ledger.unsettled_effects())
    reason = f"after {unsettled} was looked up: {way.migration.reason}" if unsettled else ""
    return Standing.MIGRATABLE, new.version, reason or way.migration.reason


def _owed_by_a_person(ledger: RunLedger) -> str:
    """Return what a person has to decide while the run's version is there; empty when nothing.

    They decide by that version's rules. Once it is gone such a run can be closed, and no more.
    """
    if ledger.run.state is not RunState.REVIEW:
        return ""
    refused = [found.operation for found in ledger.effects if is_stuck(ledger, found)]
    in_doubt = [
        found.operation
        for found in ledger.unsettled_effects()
        if found.provider in CONTRACTS and CONTRACTS[found.provider].look_up is LookUp.NONE
    ]
    taken_back = [found.operation for found in ledger.undone_effects()]
    told = (
        (refused, "is refused or in conflict"),
        (in_doubt, "may or may not have been sent"),
        (taken_back, "was taken back"),
    )
    reasons = [f"{', '.join(names)} {what}" for names, what in told if names]
    return f"a person has to decide first: {'; '.join(reasons)}" if reasons else ""
