"""Fields that Stripe keeps on its objects and localstripe refuses or forgets."""

import re
from collections import defaultdict
from urllib.parse import parse_qsl, urlencode

from sandbox.stripe_proxy.answers import Answer, JsonObject, answer

# By object: parameters taken out of the request, because localstripe refuses them, and shown on
# the object from then on.
_KEPT: dict[str, tuple[str, ...]] = {
    "refund": ("reason",),
    "subscription": ("cancellation_details",),
}
_KIND_OF_PATH = {"/v1/refunds": "refund", "/v1/subscriptions": "subscription"}
_NESTED = re.compile(r"^(?P<field>\w+)\[(?P<member>[^\]]+)\]$")


class Overlay:
    """What to show on top of localstripe's objects, by object id."""

    def __init__(self) -> None:
        self._fields: dict[str, JsonObject] = defaultdict(dict)

    def split(self, path: str, body: str) -> tuple[str, JsonObject]:
        """The body localstripe accepts, and the fields to keep once it has answered."""
        kind = _kind_of(path)
        if kind is None:
            return body, {}
        passed_on: list[tuple[str, str]] = []
        kept: JsonObject = {}
        for name, value in parse_qsl(body, keep_blank_values=True):
            nested = _NESTED.match(name)
            field = nested["field"] if nested else name
            if field not in _KEPT[kind]:
                passed_on.append((name, value))
            # localstripe takes a subscription's metadata on update and then forgets it.
            if field in _KEPT[kind] or (kind == "subscription" and field == "metadata"):
                _put(kept, field, nested["member"] if nested else None, value)
        return urlencode(passed_on), kept

    def keep(self, object_id: str, fields: JsonObject) -> None:
        """Shows these fields on the object from now on; members of objects are merged."""
        shown = self._fields[object_id]
        for name, value in fields.items():
            if isinstance(value, dict):
                shown[name] = {**shown.get(name, {}), **value}
            else:
                shown[name] = value

    def status_of(self, object_id: str) -> str | None:
        status: str | None = self._fields.get(object_id, {}).get("status")
        return status

    def show(self, received: Answer) -> Answer:
        """The answer with every kept field on the objects it holds."""
        if not received.ok or not received.body.startswith(b"{"):
            return received
        content = received.json()
        for item in content["data"] if content.get("object") == "list" else [content]:
            self.show_on(item)
        return answer(received.status, content)

    def show_on(self, item: JsonObject) -> JsonObject:
        """The object itself, with its kept fields."""
        for name in _KEPT.get(str(item.get("object")), ()):
            item.setdefault(name, None)
        for name, value in self._fields.get(str(item.get("id")), {}).items():
            item[name] = {**(item.get(name) or {}), **value} if isinstance(value, dict) else value
        return item

    def clear(self) -> None:
        self._fields.clear()


def _kind_of(path: str) -> str | None:
    return next((kind for start, kind in _KIND_OF_PATH.items() if path.startswith(start)), None)


def _put(kept: JsonObject, field: str, member: str | None, value: str) -> None:
    if member is None:
        kept[field] = value
    else:
        kept.setdefault(field, {})[member] = value
