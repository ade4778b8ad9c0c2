"""Stripe's notices: whether one is Stripe's own, and what to read because of it.

Nothing that a notice says about a record is used: only the id of the charge or subscription that it
is about. Sources: [signature] docs.stripe.com/webhooks/signature, [types]
docs.stripe.com/api/events/types.

The signature is checked here and not by Stripe's library, which takes 13 MB and most of a second to
load: anybody may send a request to this door, and it has to be cheap to turn away.
"""

import hashlib
import hmac
import json
import re
from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict

from ledger.idempotency import ID_CHARACTERS
from providers.stripe_api import MARK, RUN_MARK, StripeApi

# Ours. Stripe hands the same notices to EventBridge, whose entries end at 256 KB.
MAX_BODY_BYTES = 256 * 1024
# [signature] the default of Stripe's own libraries; "don't use a tolerance value of 0". Each
# redelivery is signed anew. A time ahead of ours is a clock that differs, or a forgery.
TOLERANCE_SECONDS = 300
# [signature] while a secret is rolled there is one "v1" for each live secret; many are forgeries.
MAX_HEADER_ITEMS = 16
_TIMESTAMP = re.compile(r"[0-9]{1,12}")
_RUN_ID = re.compile(rf"run_[a-z2-7]{{{ID_CHARACTERS}}}")
_EFFECT_ID = re.compile(rf"eff_[a-z2-7]{{{ID_CHARACTERS}}}")


class NoticeRefused(Exception):
    """A request that is no notice of Stripe's. ``problem`` names the kind; nothing was read."""

    def __init__(self, problem: str, detail: str) -> None:
        """Keep the kind (a stable slug) apart from the words; neither quotes the request."""
        super().__init__(detail)
        self.problem = problem
        self.detail = detail


class Kind(StrEnum):
    """What a notice can be about."""

    CHARGE = "charge"
    SUBSCRIPTION = "subscription"


class Reference(NamedTuple):
    """The record to read."""

    kind: Kind
    record_id: str


class Nomination(NamedTuple):
    """An effect whose mark a record carries. Whether there is such an effect, the ledger knows."""

    run_id: str
    effect_id: str


# [types] the notices that can concern an effect of ours, with the member of their object that names
# the record to read. A refund, and a dispute, names its charge.
HANDLED: Mapping[str, tuple[Kind, str]] = {
    "charge.dispute.closed": (Kind.CHARGE, "charge"),
    "charge.dispute.created": (Kind.CHARGE, "charge"),
    "charge.refund.updated": (Kind.CHARGE, "charge"),
    "charge.refunded": (Kind.CHARGE, "id"),
    "customer.subscription.deleted": (Kind.SUBSCRIPTION, "id"),
    "customer.subscription.updated": (Kind.SUBSCRIPTION, "id"),
    "refund.created": (Kind.CHARGE, "charge"),
    "refund.failed": (Kind.CHARGE, "charge"),
    "refund.updated": (Kind.CHARGE, "charge"),
}
# The same shapes as the requests of runs: what has another was never a target of ours.
_ID_SHAPES: Mapping[Kind, re.Pattern[str]] = {
    Kind.CHARGE: re.compile(r"(ch|py)_[A-Za-z0-9_]{1,252}"),
    Kind.SUBSCRIPTION: re.compile(r"sub_[A-Za-z0-9_]{1,251}"),
}


def check_signature(body: bytes, header: str, secret: str, now_ms: int) -> None:
    """Return when ``body`` was signed with ``secret`` at about ``now_ms``.

    Raises NoticeRefused for anything else. ``header`` is that of the name ``Stripe-Signature``:
    ``t=<seconds>,v1=<hex>``, where other schemes may stand beside ``v1`` and prove nothing.
    """
    timestamp, signatures = _parts(header)
    if abs(now_ms - int(timestamp) * 1000) > TOLERANCE_SECONDS * 1000:
        raise NoticeRefused("notice-too-old", "The signature is too old, or ahead of time.")
    signed = timestamp.encode() + b"." + body
    expected = hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest().encode()
    # Each is compared, so that the time taken says nothing about which one came near.
    fits = [hmac.compare_digest(expected, found) for found in signatures]
    if not any(fits):
        raise NoticeRefused("notice-unsigned", "The signature does not fit.")


def reference_in(body: bytes) -> Reference | None:
    """Return what a notice is about, None where nothing of ours can be concerned.

    Raises NoticeRefused when ``body`` is no notice, or too large for one.
    """
    if len(body) > MAX_BODY_BYTES:
        raise NoticeRefused("notice-malformed", f"The body is over {MAX_BODY_BYTES} bytes.")
    try:
        event = _Event.model_validate(json.loads(body))
    except (ValueError, RecursionError):
        # From None: the error may quote the body.
        raise NoticeRefused("notice-malformed", "The body is no event.") from None
    return _reference(event)


def nominated_by(stripe: StripeApi, about: Reference) -> tuple[Nomination, ...]:
    """Return the effects whose marks are read at Stripe on the record, each once.

    A charge stands for its refunds: a refund without a mark leads to those beside it that have one.
    Of a charge with more refunds than are read, the newest count: the notice is about one of them.
    Raises ProviderFault.
    """
    if about.kind is Kind.CHARGE:
        marks = [refund.metadata for refund in stripe.refunds_of(about.record_id).refunds]
    else:
        subscription = stripe.subscription(about.record_id)
        marks = [subscription.metadata] if subscription else []
    found = (_nomination(metadata or {}) for metadata in marks)
    return tuple(dict.fromkeys(nomination for nomination in found if nomination))


class _Part(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True, hide_input_in_errors=True, strict=True)


class _Data(_Part):
    object: dict[str, object]


class _Event(_Part):
    type: str
    data: _Data


def _parts(header: str) -> tuple[str, list[bytes]]:
    items = [item.strip().partition("=") for item in header.split(",", MAX_HEADER_ITEMS)]
    timestamps = [value for scheme, _, value in items if scheme == "t"]
    # Bytes: text that is not ASCII cannot be compared in constant time.
    signatures = [value.encode(errors="replace") for scheme, _, value in items if scheme == "v1"]
    if len(items) > MAX_HEADER_ITEMS or len(timestamps) != 1 or not signatures:
        raise NoticeRefused("notice-unsigned", "There is no signature of scheme v1.")
    if not _TIMESTAMP.fullmatch(timestamps[0]):
        raise NoticeRefused("notice-unsigned", "The signature has no time.")
    return timestamps[0], signatures


def _reference(event: _Event) -> Reference | None:
    if event.type not in HANDLED:
        return None
    kind, member = HANDLED[event.type]
    record_id = event.data.object.get(member)
    if not isinstance(record_id, str) or not _ID_SHAPES[kind].fullmatch(record_id):
        return None  # a refund without a charge, say: none of ours
    return Reference(kind, record_id)


def _nomination(metadata: Mapping[str, str]) -> Nomination | None:
    """Return what the marks name. Anybody at the dashboard may write metadata, so shapes count."""
    run_id, effect_id = metadata.get(RUN_MARK, ""), metadata.get(MARK, "")
    if not (_RUN_ID.fullmatch(run_id) and _EFFECT_ID.fullmatch(effect_id)):
        return None
    return Nomination(run_id, effect_id)
