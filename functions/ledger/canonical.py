"""One canonical form, so that equal payloads have equal digests everywhere.

RFC 8785 (JSON Canonicalization Scheme) over text in Unicode NFC. Numbers are integers only: a
float amount is a mistake of the sender, and two runtimes may print one float two ways.
"""

import hashlib
import unicodedata
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from uuid import UUID

import rfc8785

from ledger.errors import RequestRefused

type Json = str | int | bool | list[Json] | dict[str, Json] | None

MAX_DEPTH_LEVELS = 16  # payloads here are two or three levels; more is an attack or a bug


def canonical_bytes(value: object) -> bytes:
    """Return the RFC 8785 bytes of ``value``.

    Raises RequestRefused for floats, NaN, integers beyond 2**53 and types without one obvious
    JSON form.
    """
    try:
        return rfc8785.dumps(_plain(value, MAX_DEPTH_LEVELS))
    except rfc8785.CanonicalizationError as error:
        # The library's words hold the value, and a value may be anything.
        raise RequestRefused(
            "invalid-payload", "No canonical form: a number is too large, or a text is not Unicode."
        ) from error


def digest(value: object) -> str:
    """Return ``sha256:`` and the hex digest of the canonical bytes of ``value``."""
    return f"sha256:{hashlib.sha256(canonical_bytes(value)).hexdigest()}"


def _plain(value: object, levels_left: int) -> Json:
    if levels_left == 0:
        raise RequestRefused("invalid-payload", f"Nested deeper than {MAX_DEPTH_LEVELS} levels.")
    match value:
        case bool() | int() | None:
            return value
        case str():
            return unicodedata.normalize("NFC", value)
        case Decimal() if value.is_finite() and value == value.to_integral_value():
            return int(value)  # DynamoDB returns every number as Decimal
        case UUID():
            return str(value)
        case datetime() | date():
            return value.isoformat()
        case Mapping():
            return _plain_object(value, levels_left - 1)
        case Sequence() if not isinstance(value, bytes | bytearray):
            return [_plain(item, levels_left - 1) for item in value]
        case _:
            raise RequestRefused(
                "invalid-payload",
                f"A {type(value).__name__} cannot be part of a payload; amounts are integers.",
            )


def _plain_object(value: Mapping[object, object], levels_left: int) -> Json:
    members: dict[str, Json] = {}
    for key, item in value.items():
        if not isinstance(key, str):
            raise RequestRefused("invalid-payload", "Member names must be text.")
        name = unicodedata.normalize("NFC", key)
        if name in members:
            # Which one is not said: names are the sender's words, and this ends in the log.
            raise RequestRefused("invalid-payload", "A member name appears twice.")
        members[name] = _plain(item, levels_left)
    return members
