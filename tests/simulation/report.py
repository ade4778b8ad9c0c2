"""What a simulation came to, for people."""

import platform
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping

from tests.simulation.summary import Summary


def one_line(summary: Summary) -> str:
    """Return the counts."""
    tally = summary.tally
    return (
        f"{tally.seeds} schedules, {tally.steps} calls, {tally.faults.total()} faults, "
        f"{tally.violated.total()} violations, "
        f"{summary.seeds_per_second:.0f} schedules/s "
        f"({tally.seeds_per_core_second:.0f} per core); {summary.path}"
    )


def as_markdown(summary: Summary) -> str:
    """Return the summary as tables: counts, how runs of each version ended, what went wrong."""
    tally = summary.tally
    counts = {
        "schedules": f"{tally.seeds:,} (seeds {summary.first:,} to {summary.next_seed - 1:,})",
        "port calls": f"{tally.steps:,}",
        "faults injected": f"{tally.faults.total():,}, of {len(tally.faults)} kinds",
        "runs in them": f"{tally.outcomes.total():,}",
        "violations": f"{tally.violated.total():,}",
        **{f"violations of `{rule}`": f"{many:,}" for rule, many in tally.violated.most_common()},
        "schedules per core second": f"{tally.seeds_per_core_second:.0f}",
        "Python": f"{platform.python_implementation()} {platform.python_version()}, "
        f"{platform.machine()}",
    }
    tables = (
        _table("simulation", "", counts.items()),
        *(
            _table(f"runs of {version} ended", "how many", _counted(ends))
            for version, ends in sorted(_by_version(tally.outcomes).items())
        ),
        _table("fault", "how often", _counted(tally.faults)),
    )
    return "\n\n".join("\n".join(table) for table in tables)


def _by_version(outcomes: Mapping[str, int]) -> dict[str, Counter[str]]:
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for outcome, many in outcomes.items():
        version, _, end = outcome.partition(": ")
        found[version][end] += many
    return found


def _counted(counts: Mapping[str, int]) -> list[tuple[str, str]]:
    by_count = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return [(kind, f"{many:,}") for kind, many in by_count]


def _table(left: str, right: str, rows: Iterable[tuple[str, str]]) -> Iterator[str]:
    yield f"| {left} | {right} |"
    yield "| --- | ---: |"
    for name, value in rows:
        yield f"| {name.replace('|', '/')} | {value} |"
