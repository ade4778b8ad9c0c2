"""The engine as many schedules need it: without its log, and without canonical forms made anew."""

import logging
import marshal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any, cast
from unittest.mock import patch

from pydantic import BaseModel

from ledger import canonical, idempotency
from ledger.errors import InvariantBroken, LedgerError
from ledger.record import Record
from runtime import log
from tests.simulation.check import Violation
from tests.simulation.tampering import everywhere

MAX_KEPT = 100_000  # some tens of megabytes
# A format that does not depend on how often an object is referred to.
MARSHAL_VERSION = 2


@contextmanager
def many_schedules() -> Iterator[None]:
    """Write no log line, and remember the canonical form of what was seen before.

    A failure that the engine would log and go on from is a violation, unless the ledger means it.

    The same few payloads come in every schedule, and putting them into canonical form takes a
    fifth of the time. A form depends on its value alone, so that nothing is hidden by this.
    """
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with (
            everywhere(canonical, "canonical_bytes", _remembering),
            everywhere(canonical, "digest", _remembering),
            everywhere(idempotency, "_opaque", _remembering),
            patch.object(Record, "model_copy", _copied),
            everywhere(log, "log_failure", lambda _: _not_swallowed),
        ):
            yield
    finally:
        logging.disable(before)


def _not_swallowed(message: str, error: Exception, **_facts: str | int) -> None:
    if isinstance(error, InvariantBroken) or not isinstance(error, LedgerError):
        raise Violation("swallowed", f"{message}: {type(error).__name__}: {error}") from error


def _remembering[T](original: Callable[..., T]) -> Callable[..., T]:
    kept: dict[bytes, T] = {}

    def remembered(*values: object) -> T:
        try:
            key = marshal.dumps(cast("Any", values), MARSHAL_VERSION)
        except ValueError:  # of a type that cannot be told apart like this
            return original(*values)
        found = kept.get(key)
        if found is None:
            found = original(*values)
            if len(kept) < MAX_KEPT:
                kept[key] = found
        return found

    return remembered


_put_fields, _put_extra, _put_names, _put_private = (
    BaseModel.__dict__[name].__set__
    for name in (
        "__dict__",
        "__pydantic_extra__",
        "__pydantic_fields_set__",
        "__pydantic_private__",
    )
)
_model_copy = BaseModel.model_copy


def _copied[T: Record](
    record: T, *, update: Mapping[str, object] | None = None, deep: bool = False
) -> T:
    """Return what ``BaseModel.model_copy`` returns, in a third of the time."""
    kind = type(record)
    update = update or {}
    names = update.keys()
    if deep or not _names_of(kind) >= names:
        return _model_copy(record, update=update, deep=deep)
    copied = kind.__new__(kind)
    extra = record.__pydantic_extra__
    _put_fields(copied, {**record.__dict__, **update})
    _put_extra(copied, None if extra is None else {**extra})
    _put_names(copied, record.__pydantic_fields_set__ | names)
    _put_private(copied, None)
    return copied


@cache
def _names_of(kind: type[Record]) -> frozenset[str]:
    return frozenset(kind.model_fields)
