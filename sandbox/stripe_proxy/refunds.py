"""Stripe's rules for refunds: never beyond the charge, listed newest first, in pages."""

import asyncio
from collections.abc import Mapping
from urllib.parse import parse_qs, parse_qsl, urlencode

from sandbox.stripe_proxy.answers import Answer, JsonObject, answer, invalid_request
from sandbox.stripe_proxy.overlay import Overlay
from sandbox.stripe_proxy.upstream import Upstream

PATH = "/v1/refunds"
_DEFAULT_PAGE_SIZE = 10
_MAX_PAGE_SIZE = 100
# A refund that did not go through gives its amount back to the charge.
_GAVE_BACK = frozenset({"failed", "canceled"})


class Refunds:
    """Creates and lists the refunds of one localstripe."""

    def __init__(self, upstream: Upstream, overlay: Overlay) -> None:
        self._upstream = upstream
        self._overlay = overlay
        # What is left of a charge must not change between the check and the write.
        self._one_at_a_time = asyncio.Lock()

    async def create(self, headers: Mapping[str, str], body: str) -> Answer:
        """localstripe's answer, or Stripe's refusal of more than is left of the charge."""
        async with self._one_at_a_time:
            charge = await self._charge(headers, dict(parse_qsl(body)))
            if charge is None:
                return await self._upstream.send("POST", PATH, headers, body)
            left = await self._left_of(charge, headers)
            if isinstance(left, Answer):
                return left
            amount = dict(parse_qsl(body)).get("amount")
            refusal = _refusal(charge, left, amount)
            if refusal is not None:
                return refusal
            if amount is None:
                body = urlencode([*parse_qsl(body), ("amount", str(left))])
            return await self._upstream.send("POST", PATH, headers, body)

    async def page(self, headers: Mapping[str, str], query: str) -> Answer:
        """One page, newest first; `has_more` says whether older ones follow."""
        wanted = {name: values[-1] for name, values in parse_qs(query).items()}
        filters = ("charge", "payment_intent")
        target = [(name, wanted[name]) for name in filters if name in wanted]
        items = await self._upstream.all_items(
            f"{PATH}?{urlencode(target)}" if target else PATH, headers
        )
        if isinstance(items, Answer):
            return items
        return self._cut(_newest_first(_created_within(items, wanted)), wanted)

    def _cut(self, items: list[JsonObject], wanted: Mapping[str, str]) -> Answer:
        limit = wanted.get("limit", str(_DEFAULT_PAGE_SIZE))
        if not limit.isdigit() or not 1 <= int(limit) <= _MAX_PAGE_SIZE:
            return invalid_request(f"limit must be from 1 to {_MAX_PAGE_SIZE}", param="limit")
        start = 0
        if "starting_after" in wanted:
            ids = [item["id"] for item in items]
            if wanted["starting_after"] not in ids:
                return invalid_request("No such refund", "resource_missing", "starting_after")
            start = ids.index(wanted["starting_after"]) + 1
        end = start + int(limit)
        data = [self._overlay.show_on(item) for item in items[start:end]]
        return answer(
            200, {"object": "list", "url": PATH, "has_more": end < len(items), "data": data}
        )

    async def _charge(
        self, headers: Mapping[str, str], parameters: Mapping[str, str]
    ) -> JsonObject | None:
        """The charge to refund; None when localstripe itself must refuse the request."""
        charge_id = parameters.get("charge")
        if charge_id is None and "payment_intent" in parameters:
            intent = await self._upstream.send(
                "GET", f"/v1/payment_intents/{parameters['payment_intent']}", headers
            )
            latest = intent.json().get("latest_charge") if intent.ok else None
            charge_id = latest["id"] if isinstance(latest, dict) else latest
        if charge_id is None:
            return None
        found = await self._upstream.send("GET", f"/v1/charges/{charge_id}", headers)
        return found.json() if found.ok else None

    async def _left_of(self, charge: JsonObject, headers: Mapping[str, str]) -> int | Answer:
        made = await self._upstream.all_items(f"{PATH}?charge={charge['id']}", headers)
        if isinstance(made, Answer):
            return made
        spent: int = sum(
            refund["amount"]
            for refund in made
            if self._overlay.status_of(refund["id"]) not in _GAVE_BACK
        )
        charged: int = charge["amount"]
        return charged - spent


def _refusal(charge: JsonObject, left: int, amount: str | None) -> Answer | None:
    if left <= 0:
        return invalid_request(
            f"Charge {charge['id']} has already been refunded.", "charge_already_refunded", "charge"
        )
    if amount is not None and amount.isdigit() and int(amount) > left:
        return invalid_request(
            f"Refund amount ({amount}) is greater than unrefunded amount on charge ({left})",
            param="amount",
        )
    return None


def _created_within(items: list[JsonObject], wanted: Mapping[str, str]) -> list[JsonObject]:
    lowest = max(int(wanted.get("created[gte]", 0)), int(wanted.get("created[gt]", -1)) + 1)
    highest = min(
        (int(wanted[name]) - less for name, less in _UPPER_BOUNDS.items() if name in wanted),
        default=None,
    )
    return [
        item
        for item in items
        if lowest <= item["created"] and (highest is None or item["created"] <= highest)
    ]


_UPPER_BOUNDS = {"created[lte]": 0, "created[lt]": 1}


def _newest_first(items: list[JsonObject]) -> list[JsonObject]:
    # localstripe lists by second, newest first, but within one second in the order made.
    newest = sorted(enumerate(items), key=lambda row: (row[1]["created"], row[0]), reverse=True)
    return [item for _, item in newest]
