"""The engine as many schedules need it: without its log, and without canonical forms made anew."""

import logging
import marshal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, cast

from ledger import canonical
from tests.simulation.tampering import everywhere

MAX_KEPT = 100_000  # some tens of megabytes
# A format that does not depend on how often an object is referred to.
MARSHAL_VERSION = 2


@contextmanager
def many_schedules() -> Iterator[None]:
    """Write no log line, and remember the canonical form of what was seen before.

    The same few payloads come in every schedule, and putting them into canonical form takes a
    fifth of the time. A form depends on its value alone, so that nothing is hidden by this.
    """
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with (
            everywhere(canonical, "canonical_bytes", _remembering),
            everywhere(canonical, "digest", _remembering),
        ):
            yield
    finally:
        logging.disable(before)


def _remembering[T](original: Callable[[object], T]) -> Callable[[object], T]:
    kept: dict[bytes, T] = {}

    def remembered(value: object) -> T:
        try:
            key = marshal.dumps(cast("Any", value), MARSHAL_VERSION)
        except ValueError:  # of a type that cannot be told apart like this
            return original(value)
        found = kept.get(key)
        if found is None:
            found = original(value)
            if len(kept) < MAX_KEPT:
                kept[key] = found
        return found

    return remembered
