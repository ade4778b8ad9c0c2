"""A script, and how it is played against several stores."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import NamedTuple

from tests.contract.differential.book import Book
from tests.contract.differential.calls import (
    BROKE,
    RAISED,
    Answer,
    Call,
    Load,
    Personal,
    ReadOn,
    Side,
    Trail,
    Write,
    answer,
)
from tests.contract.differential.listings import Listing
from tests.contract.differential.operations import List, Operation

MAX_SHOWN = 2_000  # characters of one answer
UNKNOWN_RUN = "a run that nobody opened"


@dataclass(frozen=True)
class Script:
    """What is done, and in what pages everything is read at the end."""

    operations: tuple[Operation, ...]
    limits: tuple[int, ...]
    listings: tuple[Listing, ...]


class DifferenceError(AssertionError):
    """The stores did not answer one call alike."""

    def __init__(self, script: Script, step: int, call: Call, answers: tuple[Answer, ...]) -> None:
        """Say which call it was and what came before it."""
        self.script = replace(script, operations=script.operations[: step + 1])
        played = "\n".join(f"  {operation!r}" for operation in self.script.operations)
        shown = "\n".join(ascii(answer)[:MAX_SHOWN] for answer in answers)
        super().__init__(f"{call!r}\n{shown}\nafter\n{played}")


class Played(NamedTuple):
    """What all stores have answered alike."""

    calls: int
    refusals: int
    """The calls among them that were answered with an error of the contract."""


def play(script: Script, *sides: Side) -> Played:
    """Return what all stores have answered alike. Raises DifferenceError.

    At the end everything that can be read is read: of every run that was named, and every listing.
    """
    # On a stack of its own. Under pytest the hottest calls can come to lie where Python maps a
    # piece of stack for each call and unmaps it again, which takes as long as all the rest.
    with ThreadPoolExecutor(1) as alone:
        return alone.submit(_play, script, sides).result()


def _play(script: Script, sides: tuple[Side, ...]) -> Played:
    book = Book()
    calls = refusals = 0
    for call in _calls(script, book):
        answers = tuple(answer(call, side) for side in sides)
        first = answers[0]
        if any(other != first for other in answers) or first[0] == BROKE:
            raise DifferenceError(script, calls, call, answers)
        _learn(book, call, first)
        calls += 1
        refusals += first[0] == RAISED
    return Played(calls, refusals)


def _calls(script: Script, book: Book) -> Iterator[Call]:
    for operation in script.operations:
        yield operation.call(book)
    for run_id in (*book.touched, UNKNOWN_RUN):
        yield Load(run_id)
        yield Trail(run_id, script.limits)
        yield Personal(run_id)
    for listing in script.listings:
        yield List(listing, script.limits).call(book)


def _learn(book: Book, call: Call, answered: Answer) -> None:
    match call:
        case Write(change) if answered == ("written",):
            book.landed(change)
        case ReadOn(listing) if answered[-1] == "last" or answered[0] == RAISED:
            book.walks.pop(listing, None)
