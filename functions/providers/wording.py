"""The words of a mail: facts are put into them by name, and read back out of the finished text.

What a customer is told is the consequence of a mail, so it is judged by what the frozen text says
and by nothing that is stored beside it. A frozen text can be older than the code that reads it:
released wordings are kept, and a new one is added behind them.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from string import Formatter

from ledger.record import Scalar

# No subject holds a line break, so the two cannot run into each other.
_BETWEEN = "\n"


@dataclass(frozen=True)
class Quote:
    """How some facts stand in a text."""

    names: tuple[str, ...]
    """The facts that it tells."""

    pattern: str
    """A regular expression without groups that ``show`` always fits."""

    show: Callable[[Mapping[str, Scalar]], str]
    read: Callable[[str], dict[str, Scalar]]
    """The inverse of ``show``."""


def verbatim(name: str) -> Quote:
    """Return the quote of an id, which stands in the text as it is and holds no space."""
    return Quote((name,), r"\S+", lambda facts: str(facts[name]), lambda shown: {name: shown})


@dataclass(frozen=True)
class Wording:
    """One released subject and text. Both name their quotes in braces."""

    subject: str
    text: str
    quotes: Mapping[str, Quote]

    @property
    def names(self) -> frozenset[str]:
        """Return the names of every fact that it tells."""
        return frozenset(name for quote in self.quotes.values() for name in quote.names)

    def write(self, facts: Mapping[str, Scalar]) -> tuple[str, str]:
        """Return subject and text. Raises KeyError for a fact that is missing."""
        shown = {name: quote.show(facts) for name, quote in self.quotes.items()}
        return self.subject.format_map(shown), self.text.format_map(shown)

    def read(self, subject: str, text: str) -> dict[str, Scalar] | None:
        """Return the facts that a whole mail tells, None when these are not its words."""
        found = self._pattern.fullmatch(f"{subject}{_BETWEEN}{text}")
        if found is None:
            return None
        facts: dict[str, Scalar] = {}
        for name, quote in self.quotes.items():
            facts |= quote.read(found[name])
        return facts

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        """A quote that comes twice has to say the same each time."""
        parts: list[str] = []
        seen: set[str] = set()
        for words, name, _, _ in Formatter().parse(f"{self.subject}{_BETWEEN}{self.text}"):
            parts.append(re.escape(words))
            if name is None:
                continue
            parts.append(f"(?P={name})" if name in seen else f"(?P<{name}>{self._form(name)})")
            seen.add(name)
        return re.compile("".join(parts))

    def _form(self, name: str) -> str:
        return self.quotes[name].pattern
