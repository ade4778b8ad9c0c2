"""How the engine is tampered with, for as long as a context lasts."""

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from types import ModuleType
from typing import Any
from unittest.mock import patch

from ledger.contract import ErrorClass, FaultKind, ProviderContract
from ledger.draft import Draft
from ledger.event import EventKind

type Change = Callable[[], AbstractContextManager[object]]

# Where names of the engine are imported to; a change replaces a name everywhere.
WATCHED = ("ledger.", "reconciler.", "events.", "workflows.", "providers.", "tests.simulation.")


@contextmanager
def everywhere(module: ModuleType, name: str, wrap: Callable[[Any], Any]) -> Iterator[None]:
    """Replace a function by ``wrap`` of it in every module that has imported it."""
    original = getattr(module, name)
    changed = wrap(original)
    loaded = [found for place, found in sys.modules.items() if place.startswith(WATCHED)]
    holders = [found for found in loaded if getattr(found, name, None) is original]
    for holder in holders:
        setattr(holder, name, changed)
    try:
        yield
    finally:
        for holder in holders:
            setattr(holder, name, original)


def classified(change: Callable[[FaultKind, int | None, ErrorClass], ErrorClass]) -> Change:
    """Return a mutant that reads the provider's errors in another way."""
    original = ProviderContract.classify

    def classify(
        self: ProviderContract, kind: FaultKind, code_of: int | None, code: str | None
    ) -> ErrorClass:
        return change(kind, code_of, original(self, kind, code_of, code))

    return lambda: patch.object(ProviderContract, "classify", classify)


class Forgetful:
    """A store that says yes and writes nothing."""

    def __init__(self, store: Any) -> None:
        self._store = store

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def commit(self, _change: object) -> None:
        """Write nothing."""


def without(kind: EventKind) -> Change:
    """Return a mutant that makes a change without telling."""
    original = Draft.note

    def note(self: Draft, noted: EventKind, reason: str, **rest: Any) -> None:
        if noted is not kind:
            original(self, noted, reason, **rest)

    return lambda: patch.object(Draft, "note", note)
