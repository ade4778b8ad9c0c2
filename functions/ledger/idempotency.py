"""Ids and keys: stable, opaque, free of personal data, the same in every process.

Each is a digest, so nothing of what went in can be read out, and a caller-chosen reference that
happens to be an address never leaves the door.
"""

import base64
import hashlib
import re
from collections.abc import Mapping
from functools import lru_cache

from ledger.canonical import canonical_bytes
from ledger.record import Scalar

# 26 base32 characters carry 130 bits: two ids meet by chance once in about 2**65.
ID_CHARACTERS = 26
# As much of the digest as these need, in the steps of five bytes that base32 takes.
DIGEST_BYTES = 20
# Ids of one run are asked for again and again while it is worked on, and a process works on few.
MAX_REMEMBERED = 1_024
# A workflow version writes once per operation; a counter-effect or a second approved try would be
# the next instance.
FIRST_INSTANCE = 1
_EFFECT = "eff"
_EFFECT_ID = re.compile(rf"{_EFFECT}_[a-z2-7]{{{ID_CHARACTERS}}}")


def _opaque(prefix: str, parts: object) -> str:
    digest = hashlib.sha256(canonical_bytes(parts)).digest()[:DIGEST_BYTES]
    return f"{prefix}_{base64.b32encode(digest).decode().lower()[:ID_CHARACTERS]}"


@lru_cache(maxsize=MAX_REMEMBERED, typed=True)
def run_id_for(tenant_id: str, caller: str, caller_key: str) -> str:
    """Return the run id for a caller's Idempotency-Key: one key of one caller, one run."""
    return _opaque("run", ["run", tenant_id, caller, caller_key])


@lru_cache(maxsize=MAX_REMEMBERED, typed=True)
def effect_id_for(run_id: str, operation: str, instance: int) -> str:
    """Return the id, and provider mark, of one intended occurrence of an operation in a run."""
    return _opaque(_EFFECT, ["effect", run_id, operation, instance])


def is_effect_id(text: str) -> bool:
    """Return whether ``text`` can be an effect's id, of whatever run."""
    return _EFFECT_ID.fullmatch(text) is not None


@lru_cache(maxsize=MAX_REMEMBERED, typed=True)
def approval_id_for(run_id: str, ordinal: int) -> str:
    """Return the id of a run's first, second, … request for a decision."""
    return _opaque("apr", ["approval", run_id, ordinal])


def idempotency_key_for(
    run_id: str, operation: str, bound: Mapping[str, Scalar], instance: int, generation: int
) -> str:
    """Return the provider key of an effect.

    ``instance`` tells two honest equal writes of one run apart; ``generation`` rises when the
    provider has forgotten the key.
    """
    return _opaque("key", ["key", run_id, operation, dict(bound), instance, generation])
