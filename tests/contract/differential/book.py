"""What every store is known to hold: operations refer to it, and ties are seen in it."""

from collections.abc import Callable
from dataclasses import dataclass, field

from ledger.run import Run
from ledger.store import Change


@dataclass
class OpenWalk:
    """A listing that is read page by page while writers go on."""

    time_of: Callable[[Run], int | None]
    tied: bool = False
    """Whether two runs ever had one place: their order is no promise, nor is the rest then."""


@dataclass
class Book:
    """The sent changes and the heads that landed."""

    sent: list[Change] = field(default_factory=list)
    heads: dict[str, Run] = field(default_factory=dict)
    touched: dict[str, None] = field(default_factory=dict)
    """Run ids that anything was asked of, in that order."""

    walks: dict[object, OpenWalk] = field(default_factory=dict)

    def touch(self, run_id: str | None) -> None:
        """Note that something was asked of the run."""
        if run_id is not None:
            self.touched[run_id] = None

    def sequence_of(self, run_id: str) -> int:
        """Return the number of the run's newest event, 0 when there is no run."""
        return self.heads[run_id].sequence if run_id in self.heads else 0

    def landed(self, change: Change) -> None:
        """Learn that the stores have accepted the change; a repeat teaches nothing."""
        run_id = change.run.run_id
        if change.expected_sequence == self.sequence_of(run_id):
            self.heads[run_id] = change.run
        for walk in self.walks.values():
            walk.tied |= self.ties(walk.time_of)

    def times(self, time_of: Callable[[Run], int | None]) -> dict[str, int]:
        """Return the time of every listed run."""
        placed = {run_id: time_of(run) for run_id, run in self.heads.items()}
        return {run_id: time for run_id, time in placed.items() if time is not None}

    def ties(self, time_of: Callable[[Run], int | None]) -> bool:
        """Return whether two runs are listed at one time."""
        times = self.times(time_of).values()
        return len(set(times)) < len(times)
