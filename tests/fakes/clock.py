"""Time and randomness that a test moves."""

from dataclasses import dataclass

START_MS = 1_767_225_600_000  # 2026-01-01 00:00 UTC


@dataclass
class FakeClock:
    """A ``ledger.ports.Clock`` that stands still until it is moved."""

    at_ms: int = START_MS

    def now_ms(self) -> int:
        """Return the present time."""
        return self.at_ms

    def pass_ms(self, duration_ms: int) -> None:
        """Let time pass."""
        self.at_ms += duration_ms

    def move_to(self, at_ms: int) -> None:
        """Move to a moment; one that is past already changes nothing."""
        self.at_ms = max(self.at_ms, at_ms)


@dataclass
class FakeIds:
    """A ``ledger.ports.Ids`` that counts. Processes of one world share it."""

    made: int = 0

    def new_id(self) -> str:
        """Return the next id."""
        self.made += 1
        return f"id{self.made:06d}"


@dataclass(frozen=True)
class FakeTimeLeft:
    """A ``ledger.ports.TimeLeft`` that runs out as the clock moves."""

    clock: FakeClock
    ends_at_ms: int

    def remaining_ms(self) -> int:
        """Return the milliseconds until this invocation is ended."""
        return self.ends_at_ms - self.clock.now_ms()
