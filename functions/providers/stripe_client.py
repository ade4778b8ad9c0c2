"""Stripe's library behind ``StripeApi``: no retries, no telemetry, every failure a ProviderFault.

Answers are judged before the library reads them, so none of its exceptions, whose texts may quote
personal data, is ever raised.
"""

import json
import logging
import re
import ssl
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit

import stripe
from pydantic import ValidationError

from ledger.canonical import canonical_bytes
from ledger.contract import FaultKind
from ledger.provider import ProviderFault
from providers.stripe_api import (
    Charge,
    Customer,
    RecentPage,
    RecentRefund,
    Refund,
    RefundList,
    StripeRecord,
    Subscription,
)
from providers.stripe_promises import CALL_TIMEOUT_SECONDS, QUERY_TIMEOUT_SECONDS
from providers.stripe_transport import Answer, SocketTransport, Transport

if TYPE_CHECKING:
    from stripe.params import (
        RefundCreateParams,
        RefundListParams,
        SubscriptionUpdateParams,
    )

# docs.stripe.com/api/pagination: the most a list returns at once.
PAGE_SIZE = 100
# 500 refunds on one charge is no customer's story. Beyond it the look-up says "incomplete".
MAX_PAGES = 5
# Codes and types are words of the API (docs.stripe.com/error-codes); what has another shape, or is
# longer, is none and could hold anything.
CODE_SHAPE = re.compile(r"[A-Za-z][A-Za-z0-9_.]{0,63}")


class StripeLibrary:
    """``StripeApi`` over the stripe package. Methods are documented there."""

    def __init__(self, api_key: str, base_address: str, transport: Transport | None = None) -> None:
        """Use ``transport`` where given, a socket otherwise. Raises ValueError for no key."""
        if not api_key:
            raise ValueError("Stripe needs an API key.")
        _keep_to_ourselves()
        send = transport or SocketTransport(
            base_address, _tls_context, CALL_TIMEOUT_SECONDS, QUERY_TIMEOUT_SECONDS
        )
        self._client = stripe.StripeClient(
            api_key,
            base_addresses={"api": base_address},
            max_network_retries=0,  # and no fault that _judged raises is one it would repeat
            http_client=_JudgedHttpClient(send),
        )

    def charge(self, charge_id: str) -> Charge | None:
        """Return the charge, None when there is none."""
        return _retrieved(Charge, self._client.v1.charges.retrieve, charge_id)

    def subscription(self, subscription_id: str) -> Subscription | None:
        """Return the subscription, None when there is none."""
        return _retrieved(Subscription, self._client.v1.subscriptions.retrieve, subscription_id)

    def customer(self, customer_id: str) -> Customer | None:
        """Return the customer or its deleted stub, None when there never was one."""
        return _retrieved(Customer, self._client.v1.customers.retrieve, customer_id)

    def refunds_of(self, charge_id: str) -> RefundList:
        """Return the charge's refunds over at most MAX_PAGES requests."""
        found: list[Refund] = []
        for _ in range(MAX_PAGES):
            params: RefundListParams = {"charge": charge_id, "limit": PAGE_SIZE}
            if found:
                params["starting_after"] = found[-1].id
            page = self._client.v1.refunds.list(params)
            found += [_typed(Refund, refund) for refund in page.data]
            if not page.has_more:
                return RefundList(tuple(found), complete=True)
        return RefundList(tuple(found), complete=False)

    def refunds_since(self, since_seconds: int, after: str | None) -> RecentPage:
        """Return one page, of at most PAGE_SIZE refunds.

        docs.stripe.com/api/refunds/list: ``created`` takes a range, and lists are sorted by date
        of creation, newest first; what is made meanwhile stands before the page and moves nothing.
        """
        params: RefundListParams = {"created": {"gte": since_seconds}, "limit": PAGE_SIZE}
        if after is not None:
            params["starting_after"] = after
        page = self._client.v1.refunds.list(params)
        found = _readable(RecentRefund, page.data)
        if page.has_more and not found:
            raise ProviderFault(FaultKind.UNREADABLE, 200)  # nothing to go on behind
        return RecentPage(found, len(page.data) - len(found), complete=not page.has_more)

    def create_refund(self, params: Mapping[str, object], idempotency_key: str) -> Refund:
        """Return the refund made from exactly ``params``."""
        made = self._client.v1.refunds.create(
            cast("RefundCreateParams", _ordered(params)), {"idempotency_key": idempotency_key}
        )
        return _typed(Refund, made)

    def update_subscription(
        self, subscription_id: str, params: Mapping[str, object], idempotency_key: str
    ) -> Subscription:
        """Return the subscription after exactly ``params`` were applied."""
        updated = self._client.v1.subscriptions.update(
            subscription_id,
            cast("SubscriptionUpdateParams", _ordered(params)),
            {"idempotency_key": idempotency_key},
        )
        return _typed(Subscription, updated)


class _JudgedHttpClient(stripe.HTTPClient):
    """Lets the library see good answers only."""

    name = "recovery-ledger"

    def __init__(self, transport: Transport) -> None:
        super().__init__()
        self._transport = transport

    def request(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str] | None,
        post_data: Any = None,  # noqa: ANN401  the library's signature
        *,
        _usage: list[str] | None = None,
    ) -> tuple[str, int, Mapping[str, str]]:
        parts = urlsplit(url)
        path = f"{parts.path}?{parts.query}" if parts.query else parts.path
        answer = self._transport(method.upper(), path, headers or {}, (post_data or "").encode())
        return _judged(answer), answer.status, answer.headers

    def close(self) -> None:
        """Nothing is kept open."""


def _judged(answer: Answer) -> str:
    """Return the text of an answer that holds a Stripe object. Raises ProviderFault otherwise."""
    content = _json_object(answer.body)
    if 200 <= answer.status < 300:
        if content is None or not isinstance(content.get("object"), str):
            raise ProviderFault(FaultKind.UNREADABLE, answer.status)
        return answer.body.decode()
    if answer.status < 400:
        raise ProviderFault(FaultKind.UNREADABLE, answer.status)
    code = _code(content or {})
    if code is None:
        # Not in Stripe's own form: a page of something in between, which may have let the request
        # pass before. It is no word of Stripe's.
        raise ProviderFault(FaultKind.UNREADABLE, answer.status)
    raise ProviderFault(FaultKind.ANSWERED, answer.status, code)


def _json_object(body: bytes) -> dict[str, Any] | None:
    try:
        content = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return content if isinstance(content, dict) else None


def _code(content: Mapping[str, Any]) -> str | None:
    """Return the error's code, or its type; None for what is no error of Stripe's.

    A key known with another request is named by its type alone. That type wins over a code it may
    get one day: read as a plain 400 it would turn a conflict into a refusal.
    """
    error = content.get("error")
    if not isinstance(error, dict):
        return None
    code, kind = error.get("code"), error.get("type")
    if kind == "idempotency_error" and code != "idempotency_key_in_use":
        code = kind
    # Words of the API, never text that could quote a person.
    words = [word for word in (code, kind) if isinstance(word, str) and CODE_SHAPE.fullmatch(word)]
    return words[0] if words else None


def _retrieved[R: StripeRecord](
    model: type[R], retrieve: Callable[[str], stripe.StripeObject], record_id: str
) -> R | None:
    """Return the record, None when Stripe itself says that there is none.

    A 404 that is not in Stripe's own form proves nothing.
    """
    try:
        return _typed(model, retrieve(record_id))
    except ProviderFault as fault:
        if fault.kind is FaultKind.ANSWERED and fault.status == 404:
            return None
        raise


def _typed[R: StripeRecord](model: type[R], found: stripe.StripeObject) -> R:
    try:
        return model.model_validate(found.to_dict())
    except ValidationError:
        # From None: the error quotes the record, which may hold personal data.
        raise ProviderFault(FaultKind.UNREADABLE, 200) from None


def _readable[R: StripeRecord](model: type[R], entries: Iterable[object]) -> tuple[R, ...]:
    """Return the entries that have the form of ``model``."""
    found: list[R] = []
    for entry in entries:
        with suppress(ValidationError):
            held = entry.to_dict() if isinstance(entry, stripe.StripeObject) else entry
            found.append(model.model_validate(held))
    return tuple(found)


def _ordered(params: Mapping[str, object]) -> dict[str, object]:
    """Return ``params`` in canonical order, so that equal requests are equal bytes."""
    return cast("dict[str, object]", json.loads(canonical_bytes(params)))


def _tls_context() -> ssl.SSLContext:
    return ssl.create_default_context(cafile=stripe.ca_bundle_path)


def _keep_to_ourselves() -> None:
    """Switch off what the library would tell about our calls."""
    stripe.enable_telemetry = False
    # At DEBUG it logs whole answers, a customer's address included.
    logging.getLogger("stripe").disabled = True
