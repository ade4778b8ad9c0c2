"""What a simulation came to, kept so that it can be continued."""

import hashlib
import json
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ledger.run import RunLedger
from tests.simulation.check import Violation
from tests.simulation.ending import outcome_of
from tests.simulation.machine import ROOT
from tests.simulation.world import World

SOURCES = ("functions", "statemachines", "tests/simulation")
PINNED = ("tests/requirements.txt",)  # the libraries that the seeds are played with
MAX_LISTED = 20  # failing seeds; the first one is what will be looked at


@dataclass
class Tally:
    """Counts over some seeds, added up in any order."""

    seeds: int = 0
    steps: int = 0
    cpu_seconds: float = 0.0
    faults: Counter[str] = field(default_factory=Counter)
    outcomes: Counter[str] = field(default_factory=Counter)
    """Workflow version and kind of end to how many runs ended so."""

    violated: Counter[str] = field(default_factory=Counter)
    """Rule to how many seeds broke it."""

    violations: dict[int, str] = field(default_factory=dict)
    """The first failing seeds, at most ``MAX_LISTED`` of them, and what each violates."""

    def run(self, seed: int) -> None:
        """Simulate one seed."""
        world = World(seed)
        try:
            world.run()
        except Violation as violation:
            self.violated[violation.rule] += 1
            self._list({seed: str(violation)})
        else:
            ends = [_end_of(world, ledger) for ledger in world.check.runs()]
            never = f"{world.scenario.definition.version}: never opened"
            self.outcomes.update(ends or [never])
        self.seeds += 1
        self.steps += world.steps
        self.faults.update(kind.value for _, kind in world.plan.injected)
        world.take_apart()

    def add(self, other: "Tally") -> None:
        """Add what other seeds came to."""
        self.seeds += other.seeds
        self.steps += other.steps
        self.cpu_seconds += other.cpu_seconds
        self.faults.update(other.faults)
        self.outcomes.update(other.outcomes)
        self.violated.update(other.violated)
        self._list(other.violations)

    def _list(self, violations: Mapping[int, str]) -> None:
        known = {**self.violations, **violations}
        self.violations = {seed: known[seed] for seed in sorted(known)[:MAX_LISTED]}

    @property
    def seeds_per_core_second(self) -> float:
        """Return how many seeds a processor plays in a second."""
        return self.seeds / max(self.cpu_seconds, 0.001)


def _end_of(world: World, ledger: RunLedger) -> str:
    opened, now = world.scenario.definition.version, ledger.run.workflow
    version = opened if now == opened else f"{opened} as {now}"
    return f"{version}: {outcome_of(world.check, ledger)}"


@dataclass
class Summary:
    """A simulation of the seeds from ``first`` on, of one state of the code."""

    path: Path
    first: int
    code: str
    tally: Tally = field(default_factory=Tally)
    wall_seconds: float = 0.0

    @property
    def next_seed(self) -> int:
        """Return the first seed that has not been simulated."""
        return self.first + self.tally.seeds

    @property
    def seeds_per_second(self) -> float:
        """Return how many seeds all processors together played in a second."""
        return self.tally.seeds / max(self.wall_seconds, 0.001)

    @classmethod
    def at(cls, path: Path, first: int) -> "Summary":
        """Return what is kept at ``path`` if it can be continued, otherwise a new summary."""
        fresh = cls(path, first, code_digest())
        if not path.exists():
            return fresh
        kept = json.loads(path.read_text())
        if (kept["first_seed"], kept["code"]) != (fresh.first, fresh.code):
            return fresh
        fresh.wall_seconds = kept["wall_seconds"]
        fresh.tally = Tally(
            seeds=kept["seeds"],
            steps=kept["steps"],
            cpu_seconds=kept["cpu_seconds"],
            faults=Counter(kept["faults"]),
            outcomes=Counter(kept["outcomes"]),
            violated=Counter(kept["violated"]),
            violations={int(seed): text for seed, text in kept["violations"].items()},
        )
        return fresh

    def write(self) -> None:
        """Keep it. A file is replaced whole, so that an interruption leaves the one before."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        written = self.path.with_suffix(".new")
        written.write_text(json.dumps(self._as_json(), indent=2) + "\n")
        written.replace(self.path)

    def _as_json(self) -> dict[str, Any]:
        tally = self.tally
        return {
            "first_seed": self.first,
            "code": self.code,
            "seeds": tally.seeds,
            "steps": tally.steps,
            "faults_injected": tally.faults.total(),
            "wall_seconds": round(self.wall_seconds, 3),
            "cpu_seconds": round(tally.cpu_seconds, 3),
            "seeds_per_second": round(self.seeds_per_second, 1),
            "seeds_per_core_second": round(tally.seeds_per_core_second, 1),
            "outcomes": dict(tally.outcomes.most_common()),
            "faults": dict(tally.faults.most_common()),
            "violations": {str(seed): text for seed, text in tally.violations.items()},
            "violated": dict(tally.violated.most_common()),
            "violation_count": tally.violated.total(),
        }


def code_digest() -> str:
    """Return a digest over everything that decides what a seed does."""
    found = hashlib.sha256(f"{sys.version}".encode())
    for pinned in PINNED:
        found.update((ROOT / pinned).read_bytes())
    for source in SOURCES:
        for path in sorted((ROOT / source).rglob("*")):
            if path.suffix in (".py", ".json"):
                found.update(str(path.relative_to(ROOT)).encode())
                found.update(path.read_bytes())
    return f"sha256:{found.hexdigest()}"
