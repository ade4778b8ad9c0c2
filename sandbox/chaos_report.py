"""What a chaos run came to: for people a table, for programs `chaos.json`."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from pydantic import BaseModel, ConfigDict
from rich.console import Console
from rich.table import Table

from ledger.event import Event
from ledger.transitions import EffectState, RunState
from sandbox.chaos_books import Difference, LedgerBooks, ProviderBooks
from sandbox.chaos_faults import FaultKind, Happened, Planned

_FOUND_OUT = frozenset({EffectState.CONFIRMED, EffectState.REJECTED, EffectState.CONFLICT})
_RUN_SETTLED = frozenset({RunState.COMPLETED, RunState.CLOSED, RunState.REVIEW})
_DIFFERENCES_SHOWN = 20


class Chaos(BaseModel):
    """One chaos run. Times in seconds."""

    model_config = ConfigDict(frozen=True)

    seed: int
    runs: int
    faults_planned: int
    faults_met: int
    """How many of them met a request, a process, an execution or a mail."""
    runs_by_outcome: dict[str, int]
    reviews_by_reason: dict[str, int]
    faults_by_kind: dict[str, int]
    refunds_at_provider: int
    mails_accepted: int
    differences: list[dict[str, str]]
    troubles: list[str]
    """Customers whom nobody answered in the time they had, and state that the AWS lost."""
    longest_seconds_from_fault_to_found_out: float
    """From a fault at a write until the ledger knew what had become of that write."""
    longest_seconds_from_restart_to_settled: float
    """From a restart until the last run that it had interrupted was over or with a person."""
    seconds_total: float

    @property
    def proven(self) -> bool:
        """No difference, nothing lost, nobody left without an answer."""
        return not self.differences and not self.troubles


def report(
    *,
    seed: int,
    planned: Sequence[Planned],
    happened: Sequence[Happened],
    provider: ProviderBooks,
    ledger: LedgerBooks,
    events: Mapping[str, Sequence[Event]],
    keys: Mapping[str, str],
    differences: Sequence[Difference],
    troubles: Sequence[str],
    seconds_total: float,
) -> Chaos:
    """The findings; `keys` gives for each idempotency key its effect."""
    trail = [event for of_run in events.values() for event in of_run]
    return Chaos(
        seed=seed,
        runs=len(ledger.runs),
        faults_planned=len(planned),
        faults_met=len(happened),
        runs_by_outcome=_counted(run.state for run in ledger.runs),
        reviews_by_reason=_counted(
            run.reason for run in ledger.runs if run.state == RunState.REVIEW
        ),
        faults_by_kind=_counted(fault.kind for fault in happened),
        refunds_at_provider=len(provider.refunds),
        mails_accepted=len(provider.mails),
        differences=[
            {"kind": found.kind, "where": found.where, "words": found.words}
            for found in differences
        ],
        troubles=list(troubles),
        longest_seconds_from_fault_to_found_out=_longest_to_found_out(happened, keys, trail),
        longest_seconds_from_restart_to_settled=_longest_to_settled(happened, events),
        seconds_total=round(seconds_total, 1),
    )


def show(console: Console, found: Chaos) -> None:
    """Prints the summary."""
    table = Table(title=f"Chaos, seed {found.seed}", show_header=False)
    table.add_column()
    table.add_column(justify="right")
    for outcome, count in found.runs_by_outcome.items():
        table.add_row(f"runs {outcome}", str(count))
    for reason, count in found.reviews_by_reason.items():
        table.add_row(f"  {reason}", str(count), style="dim")
    table.add_section()
    for kind, count in found.faults_by_kind.items():
        table.add_row(kind, str(count))
    of_planned = f"faults that met something, of {found.faults_planned} planned"
    table.add_row(of_planned, str(found.faults_met), style="bold")
    table.add_section()
    table.add_row("refunds at the provider", str(found.refunds_at_provider))
    table.add_row("mails accepted", str(found.mails_accepted))
    table.add_row(
        "longest from a fault to what became of the write",
        f"{found.longest_seconds_from_fault_to_found_out:.0f} s",
    )
    table.add_row(
        "longest from a restart to the last run's end",
        f"{found.longest_seconds_from_restart_to_settled:.0f} s",
    )
    table.add_row("in all", f"{found.seconds_total:.0f} s")
    table.add_row("differences between the books", str(len(found.differences)), style="bold")
    console.print(table)
    for line in found.differences[:_DIFFERENCES_SHOWN]:
        console.print(f"{line['kind']}: {line['where']}: {line['words']}", style="bold red")
    for trouble in found.troubles[:_DIFFERENCES_SHOWN]:
        console.print(trouble, style="bold red", markup=False)


def _counted(names: Iterable[str]) -> dict[str, int]:
    return dict(Counter(map(str, names)).most_common())


def _longest_to_found_out(
    happened: Sequence[Happened], keys: Mapping[str, str], trail: Sequence[Event]
) -> float:
    found_at: dict[str, list[int]] = {}
    for event in trail:
        if event.state in _FOUND_OUT:
            found_at.setdefault(event.subject, []).append(event.at_ms)
    waits = [
        next((at_ms - fault.at_ms for at_ms in found_at.get(effect, []) if at_ms >= fault.at_ms), 0)
        for fault in happened
        if (effect := keys.get(fault.idempotency_key or "")) is not None
    ]
    return max(waits, default=0) / 1000


def _longest_to_settled(
    happened: Sequence[Happened], events: Mapping[str, Sequence[Event]]
) -> float:
    waits = []
    for fault in happened:
        if fault.kind is not FaultKind.RESTART:
            continue
        for trail in events.values():
            ends = [event.at_ms for event in trail if event.state in _RUN_SETTLED]
            if trail and ends and trail[0].at_ms < fault.at_ms < ends[-1]:
                waits.append(ends[-1] - fault.at_ms)
    return max(waits, default=0) / 1000
