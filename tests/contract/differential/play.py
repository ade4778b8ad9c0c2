"""A script, and how it is played against two stores."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from tests.contract.differential.book import Book
from tests.contract.differential.calls import (
    BROKE,
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
    """The stores answered one call in two ways."""

    def __init__(
        self, script: Script, step: int, call: Call, answers: tuple[Answer, Answer]
    ) -> None:
        """Say which call it was and what came before it."""
        self.script = replace(script, operations=script.operations[: step + 1])
        played = "\n".join(f"  {operation!r}" for operation in self.script.operations)
        first, second = (ascii(answer)[:MAX_SHOWN] for answer in answers)
        super().__init__(f"{call!r}\n{first}\n{second}\nafter\n{played}")


def play(script: Script, first: Side, second: Side) -> int:
    """Return how many calls both stores have answered alike. Raises DifferenceError.

    At the end everything that can be read is read: of every run that was named, and every listing.
    """
    # On a stack of its own. Under pytest the hottest calls can come to lie where Python maps a
    # piece of stack for each call and unmaps it again, which takes as long as all the rest.
    with ThreadPoolExecutor(1) as alone:
        return alone.submit(_play, script, first, second).result()


def _play(script: Script, first: Side, second: Side) -> int:
    book = Book()
    calls = 0
    for call in _calls(script, book):
        answers = answer(call, first), answer(call, second)
        if answers[0] != answers[1] or answers[0][0] == BROKE:
            raise DifferenceError(script, calls, call, answers)
        _learn(book, call, answers[0])
        calls += 1
    return calls


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
        case ReadOn(listing) if answered[-1] == "last" or answered[0] == "raised":
            book.walks.pop(listing, None)
