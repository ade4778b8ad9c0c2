"""The command line: simulate many seeds, go on where it stopped, or replay one."""

import argparse
import gc
import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.pool import Pool
from pathlib import Path

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from tests.simulation.machine import ROOT
from tests.simulation.quiet import many_schedules
from tests.simulation.report import as_markdown, one_line
from tests.simulation.shrink import shrink
from tests.simulation.summary import Summary, Tally
from tests.simulation.world import World

CHUNK_SEEDS = 250  # two seconds of work: small enough to stop soon, large enough to be cheap
STATE = ROOT / ".sandbox" / "simulation.json"
INTERRUPTED = 130  # what a shell gives a command that was interrupted

console = Console()


def main(arguments: list[str] | None = None) -> int:
    """Return 0 when nothing was violated, 1 when something was, 130 when interrupted."""
    asked = _parser().parse_args(arguments)
    if asked.replay is not None:
        return replay(asked.replay, whole=asked.whole)
    summary = Summary.at(asked.summary, asked.first)
    last = asked.first + asked.seeds
    if summary.next_seed > asked.first:
        console.print(f"Going on at seed {summary.next_seed}; {summary.tally.seeds} are done.")
    interrupted = False
    try:
        with _interruptible():
            simulate(summary, last, asked.jobs)
    except KeyboardInterrupt:
        interrupted = True
    summary.write()
    console.print(one_line(summary), markup=False, soft_wrap=True)
    if asked.markdown:
        print(as_markdown(summary))  # noqa: T201  as it is, whatever the width of a console
    if summary.tally.violations:
        replay(min(summary.tally.violations), whole=False)
        return 1
    return INTERRUPTED if interrupted else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("--seeds", type=int, default=20_000, help="how many schedules")
    parser.add_argument("--first", type=int, default=1, help="the first seed")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument("--summary", type=Path, default=STATE, help="where to keep the counts")
    parser.add_argument("--markdown", action="store_true", help="show the counts as tables, too")
    parser.add_argument("--replay", type=int, help="show what one seed does, made small")
    parser.add_argument("--whole", action="store_true", help="replay with every fault")
    return parser


def simulate(summary: Summary, last: int, jobs: int) -> None:
    """Simulate the seeds up to ``last``, in order, writing the summary as they are done."""
    chunks = list(_chunks(summary.next_seed, last))
    if not chunks:
        return
    before_seconds = summary.wall_seconds
    with _pool(min(jobs, len(chunks))) as pool, _progress() as progress:
        started = time.monotonic()
        bar = progress.add_task("schedules", total=last - summary.first)
        progress.update(bar, completed=summary.tally.seeds)
        for tally in pool.imap(run_chunk, chunks):
            summary.tally.add(tally)
            summary.wall_seconds = before_seconds + time.monotonic() - started
            summary.write()
            found = summary.tally.violated.total()
            progress.update(bar, completed=summary.tally.seeds, description=f"{found} violations")


def run_chunk(seeds: range) -> Tally:
    """Return what some seeds come to."""
    tally = Tally()
    started = time.process_time()
    with many_schedules(), _collected_at_the_end():
        for seed in seeds:
            tally.run(seed)
    tally.cpu_seconds = time.process_time() - started
    return tally


@contextmanager
def _collected_at_the_end() -> Iterator[None]:
    """Look once for what ``World.take_apart`` has left: a search costs as much as ten worlds."""
    gc.freeze()  # what is there already stays, and is not searched
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        gc.collect()


def _chunks(first: int, last: int) -> Iterator[range]:
    for start in range(first, last, CHUNK_SEEDS):
        yield range(start, min(start + CHUNK_SEEDS, last))


@contextmanager
def _interruptible() -> Iterator[None]:
    """Take both signals for an interrupt, which a shell's background commands would ignore."""
    before = {
        stop: signal.signal(stop, signal.default_int_handler)
        for stop in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield
    finally:
        for stop, handler in before.items():
            signal.signal(stop, handler)


@contextmanager
def _pool(jobs: int) -> Iterator[Pool]:
    # Fresh interpreters: a fork would take over this one's threads half done.
    with get_context("spawn").Pool(jobs, _ignore_interrupts) as pool:
        yield pool


def _ignore_interrupts() -> None:
    """Leave an interrupt to the parent, which ends the workers after writing down what is done."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _progress() -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=console,
    )


def replay(seed: int, *, whole: bool) -> int:
    """Show what a seed does, with as few faults as it takes to fail. Return 1 when it fails."""
    with many_schedules():
        failure = shrink(seed, reruns=0) if whole else shrink(seed)
    if failure is None:
        world = World(seed, traced=True)
        with many_schedules():
            world.run()
        _print_trace(world.trace or [])
        console.print(f"Seed {seed} violates nothing.")
        return 0
    _print_trace(list(failure.trace))
    console.print(f"Seed {seed}: {failure.violation}", style="bold red", markup=False)
    console.print(f"{len(failure.dropped)} of its faults were not needed for that.")
    return 1


def _print_trace(lines: list[str]) -> None:
    for line in lines:
        console.print(line, markup=False, highlight=False, soft_wrap=True)
