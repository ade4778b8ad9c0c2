"""`python -m sandbox.chaos`: many refunds at once while everything breaks, and then the books.

Exits 0 only when the provider's books and the ledger's are the same, line by line, and every run is
completed, closed, or with a person for a stated reason.
"""

import argparse
import os
import secrets
import sys
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
from botocore.exceptions import BotoCoreError, ClientError
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from sandbox.errors import SandboxError
from sandbox.interrupts import interrupt_on_stop_signals
from sandbox.surroundings import reach_this_machine_directly

# The function code's import root, as in Lambda: the ledger is read with its own store.
sys.path.insert(0, str(Path(__file__).parents[1] / "functions"))

from sandbox.chaos_aws import keeping_its_state
from sandbox.chaos_books import compare
from sandbox.chaos_faults import Faults, Planned, plan
from sandbox.chaos_reading import read_books
from sandbox.chaos_report import Chaos, report, show
from sandbox.chaos_runs import Crowd, unsettled
from sandbox.environment import Sandbox
from sandbox.workspace import shown_at, workspace, write_whole

RUNS = 200
FAULTS = 110
MAX_RUNS = 2000
_INTERRUPTED = 130
# A mail whose answer and events were lost is handed to a person after 15 minutes, at a sweep.
SETTLE_SECONDS = 20 * 60
_POLL_SECONDS = 1.0


def main() -> int:
    """The exit status: 0 no difference, 1 a difference or no way to look, 130 interrupted."""
    parser = argparse.ArgumentParser(prog="python -m sandbox.chaos", description=__doc__)
    parser.add_argument("--runs", type=int, default=RUNS, help=f"how many (default: {RUNS})")
    parser.add_argument("--faults", type=int, default=FAULTS, help=f"how many (default: {FAULTS})")
    parser.add_argument("--seed", type=int, help="of the plan of faults (default: a new one)")
    options = parser.parse_args()
    if not (1 <= options.runs <= MAX_RUNS and 0 <= options.faults <= options.runs):
        parser.error(f"from 1 to {MAX_RUNS} runs, and at most as many faults")
    console = Console(highlight=False)
    interrupt_on_stop_signals()
    reach_this_machine_directly(os.environ)
    seed = secrets.randbelow(1_000_000) if options.seed is None else options.seed
    try:
        return run_chaos(console, options.runs, plan(seed, options.faults, options.runs), seed)
    except KeyboardInterrupt:
        console.print("Interrupted; everything it started has ended", style="dim")
        return _INTERRUPTED
    except (SandboxError, BotoCoreError, ClientError, httpx.HTTPError) as error:
        console.print(f"{error}", style="bold red", markup=False, soft_wrap=True)
        return 1


def run_chaos(console: Console, runs: int, planned: Sequence[Planned], seed: int) -> int:
    """0 only if `Chaos.proven` holds, which is then in chaos.json."""
    started = time.monotonic()
    _show_plan(console, planned, seed)
    with workspace("chaos") as directory:
        shown = shown_at(directory, "chaos", "chaos.json")
        shown.unlink(missing_ok=True)
        with (
            keeping_its_state() as kept,
            Sandbox(directory, report=lambda step: console.print(step, style="dim")) as sandbox,
            _progress(console) as progress,
        ):
            crowd = Crowd(sandbox)
            seeded = progress.add_task("customers", total=runs)
            crowd.seed(runs, lambda: progress.advance(seeded))
            faults = Faults(sandbox, kept, seed)
            try:
                _play(crowd, faults, planned, progress)
            finally:
                crowd.stop()
            provider, ledger, events = read_books(sandbox, crowd)
            found = report(
                seed=seed,
                planned=planned,
                happened=faults.happened(),
                provider=provider,
                ledger=ledger,
                events=events,
                keys=ledger.keys,
                differences=compare(provider, ledger),
                troubles=[*crowd.troubles, *kept.lost_state()],
                seconds_total=time.monotonic() - started,
            )
            write_whole(shown, found.model_dump_json(indent=2))
    show(console, found)
    console.print(_verdict(found), style="bold green" if found.proven else "bold red")
    console.print(f"Everything is in {shown}", style="dim", soft_wrap=True)
    return 0 if found.proven else 1


def _play(crowd: Crowd, faults: Faults, planned: Sequence[Planned], progress: Progress) -> None:
    """Customers in threads of their own, faults in this one; ends when all is settled or late."""
    bars = {
        "approved": progress.add_task("customers who said yes", total=len(crowd.customers)),
        "faults": progress.add_task("faults", total=len(planned)),
        "settled": progress.add_task("runs settled", total=len(crowd.customers)),
    }
    to_come = list(planned)
    acting = ThreadPoolExecutor(max_workers=1)
    acted = acting.submit(crowd.act)
    acting.shutdown(wait=False)
    # Bounded: every customer gives up in the end.
    while not acted.done():
        while to_come and to_come[0].after_approvals <= crowd.approved:
            faults.inject(to_come.pop(0).kind)
            progress.advance(bars["faults"])
        progress.update(bars["approved"], completed=crowd.approved)
        time.sleep(_POLL_SECONDS / 4)
    acted.result()
    progress.update(bars["approved"], completed=crowd.approved)
    open_runs = sorted(crowd.run_ids())
    deadline = time.monotonic() + SETTLE_SECONDS
    while time.monotonic() < deadline:
        open_runs = unsettled(crowd, open_runs)
        progress.update(bars["settled"], completed=len(crowd.customers) - len(open_runs))
        if not open_runs:
            return
        time.sleep(_POLL_SECONDS)


def _show_plan(console: Console, planned: Sequence[Planned], seed: int) -> None:
    console.rule(f"{len(planned)} faults, seed {seed}")
    moments: dict[str, list[int]] = {}
    for fault in planned:
        moments.setdefault(fault.kind, []).append(fault.after_approvals)
    for kind, after in sorted(moments.items()):
        times = " ".join(map(str, after))
        console.print(f"{kind}, after so many approvals: {times}", style="dim", soft_wrap=True)


def _progress(console: Console) -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=console,
    )


def _verdict(found: Chaos) -> str:
    if found.proven:
        return "The provider's books and the ledger's are the same, line by line."
    kinds = Counter(line["kind"] for line in found.differences)
    return f"NOT PROVEN: {dict(kinds)}, {len(found.troubles)} troubles"


if __name__ == "__main__":
    sys.exit(main())
