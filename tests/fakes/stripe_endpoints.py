"""The endpoints of Stripe's v1 API that are used here, over a ``StripeWorld``."""

import re
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import parse_qsl

from tests.fakes.stripe_world import EXPONENTS, StripeWorld

# Stripe's search index trails the objects by up to a minute, and knows no refunds.
SEARCH_LAG_SECONDS = 60
_DEFAULT_PAGE_SIZE = 10
_MAX_PAGE_SIZE = 100

Form = Mapping[str, str]


class Refusal(Exception):
    """An error answer that Stripe gives on purpose."""

    def __init__(
        self, status: int, kind: str = "invalid_request_error", code: str | None = None
    ) -> None:
        """Keep status, ``error.type`` and ``error.code``."""
        super().__init__(f"{status} {kind} {code}")
        self.status = status
        self.kind = kind
        self.code = code

    def export(self) -> dict[str, Any]:
        """Return the answer's body."""
        error = {"type": self.kind, "message": "Refused by the fake."}
        return {"error": error | ({"code": self.code} if self.code else {})}


class StripeEndpoints:
    """Reads and writes, without keys, faults or log."""

    def __init__(self, world: StripeWorld) -> None:
        """Serve ``world``."""
        self._world = world
        self._routes: tuple[tuple[str, Callable[[str, Form], dict[str, Any]]], ...] = (
            (r"GET /v1/charges/search()", self._search_charges),
            (r"GET /v1/charges/(\w+)", self._charge),
            (r"GET /v1/customers/(\w+)", self._customer),
            (r"GET /v1/subscriptions/(\w+)", self._subscription),
            (r"POST /v1/subscriptions/(\w+)", self._update_subscription),
            (r"GET /v1/refunds()", self._list_refunds),
            (r"POST /v1/refunds()", self._create_refund),
            (r"GET /v1/refunds/(re_\w+)", self._refund),
        )

    def answer(self, method: str, path: str, query: str, body: bytes) -> dict[str, Any]:
        """Return the object asked for. Raises Refusal."""
        form = dict(parse_qsl(query if method == "GET" else body.decode()))
        for pattern, endpoint in self._routes:
            found = re.fullmatch(pattern, f"{method} {path}")
            if found:
                return endpoint(found[1], form)
        raise Refusal(404)  # "Unrecognized request URL", as for a search of refunds

    def _charge(self, charge_id: str, _form: Form) -> dict[str, Any]:
        return self._world.export_charge(_held(self._world.charges, charge_id))

    def _customer(self, customer_id: str, _form: Form) -> dict[str, Any]:
        return _held(self._world.customers, customer_id).export()

    def _subscription(self, subscription_id: str, _form: Form) -> dict[str, Any]:
        return _held(self._world.subscriptions, subscription_id).export()

    def _update_subscription(self, subscription_id: str, form: Form) -> dict[str, Any]:
        subscription = _held(self._world.subscriptions, subscription_id)
        if subscription.status == "canceled":
            raise Refusal(400, code="resource_missing")
        if "cancel_at_period_end" in form:
            subscription.cancel_at_period_end = form["cancel_at_period_end"] == "true"
        subscription.metadata.update(_metadata(form))
        return subscription.export()

    def _refund(self, refund_id: str, _form: Form) -> dict[str, Any]:
        by_id = {made.id: made for made in self._world.refunds}
        return self._world.export_refund(_held(by_id, refund_id))

    def _list_refunds(self, _id: str, form: Form) -> dict[str, Any]:
        if "charge" in form:
            _held(self._world.charges, form["charge"])
        newest_first = [
            made
            for made in reversed(self._world.refunds)
            if made.charge == form.get("charge", made.charge)
            and made.created_ms >= int(form.get("created[gte]", 0)) * 1000
        ]
        if "starting_after" in form:
            ids = [made.id for made in newest_first]
            newest_first = newest_first[ids.index(form["starting_after"]) + 1 :]
        size = min(int(form.get("limit", _DEFAULT_PAGE_SIZE)), _MAX_PAGE_SIZE)
        return {
            "object": "list",
            "url": "/v1/refunds",
            "has_more": len(newest_first) > size,
            "data": [self._world.export_refund(made) for made in newest_first[:size]],
        }

    def _create_refund(self, _id: str, form: Form) -> dict[str, Any]:
        charge = _held(self._world.charges, form["charge"])
        left_minor = charge.amount - self._world.refunded_minor(charge.id)
        amount_minor = int(form.get("amount", left_minor))
        if charge.disputed:
            raise Refusal(400, code="charge_disputed")
        if left_minor <= 0:
            raise Refusal(400, code="charge_already_refunded")
        if not 0 < amount_minor <= left_minor:
            raise Refusal(400)  # "Refund amount is greater than unrefunded amount on charge"
        if EXPONENTS[charge.currency] == 3 and amount_minor % 10:
            raise Refusal(400)
        made = self._world.make_refund(charge.id, amount_minor, _metadata(form), form.get("reason"))
        return self._world.export_refund(made)

    def _search_charges(self, _id: str, _form: Form) -> dict[str, Any]:
        indexed_ms = self._world.clock.now_ms() - SEARCH_LAG_SECONDS * 1000
        found = [held for held in self._world.charges.values() if held.created_ms <= indexed_ms]
        return {
            "object": "search_result",
            "has_more": False,
            "data": [self._world.export_charge(held) for held in found],
        }


def _held[T](objects: Mapping[str, T], object_id: str) -> T:
    try:
        return objects[object_id]
    except KeyError:
        raise Refusal(404, code="resource_missing") from None


def _metadata(form: Form) -> dict[str, str]:
    named = ((re.fullmatch(r"metadata\[(\w+)\]", name), value) for name, value in form.items())
    return {found[1]: value for found, value in named if found}
