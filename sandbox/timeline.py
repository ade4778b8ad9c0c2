"""What happens, printed as it happens, mostly from the ledger's own events."""

from collections.abc import Iterable
from dataclasses import dataclass

from rich.console import Console
from rich.text import Text

from ledger.event import Event
from ledger.run import RunLedger
from sandbox.wording import in_words

_TIME_WIDTH = 7
_TROUBLE = frozenset({"unknown", "conflict", "rejected", "review"})
_PROVEN = frozenset({"confirmed", "completed"})


@dataclass(frozen=True)
class Moment:
    """One line: when, who, what."""

    at_ms: int
    actor: str
    sentence: str
    style: str = "bold"


class Timeline:
    """Lines with the seconds since the first one's wish was spoken."""

    def __init__(self, console: Console, started_at_ms: int) -> None:
        self._console = console
        self._started_at_ms = started_at_ms

    def show(self, moments: Iterable[Moment]) -> None:
        """Prints the moments by time; those of one millisecond stay in the order given."""
        for moment in sorted(moments, key=lambda moment: moment.at_ms):
            seconds = max(0, moment.at_ms - self._started_at_ms) / 1000
            line = Text.assemble(
                (f"{seconds:{_TIME_WIDTH}.2f} s  ", "dim"),
                (f"{moment.actor:<9}", "cyan"),
                (moment.sentence, moment.style),
            )
            self._console.print(line, soft_wrap=True)


def moment_of(run: RunLedger, event: Event) -> Moment:
    """The event in words; `run` must be read after it, to know the names of what it is about."""
    sentence = in_words(event, _name_of(run, event.subject))
    return Moment(event.at_ms, "ledger", sentence, _style(event))


def _name_of(run: RunLedger, subject: str) -> str:
    """The operation of an effect, or the name a checkpoint has; other ids say nothing to people."""
    effect = run.effect(subject)
    if effect is not None:
        return effect.operation
    return subject if any(proven.name == subject for proven in run.checkpoints) else ""


def _style(event: Event) -> str:
    if event.state in _TROUBLE:
        return "yellow"
    return "green" if event.state in _PROVEN else ""
