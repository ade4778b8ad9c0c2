"""Which notices a change of an object brings about."""

from collections.abc import Mapping

from sandbox.stripe_proxy.answers import Answer, JsonObject
from sandbox.stripe_proxy.notices import Notices
from sandbox.stripe_proxy.provider import Provider
from sandbox.stripe_proxy.refunds import PATH as REFUNDS

_SUBSCRIPTIONS = "/v1/subscriptions/"
# Whoever is signed in at the dashboard; localstripe takes any key of this shape.
DASHBOARD: Mapping[str, str] = {
    "Authorization": "Bearer sk_test_dashboard",
    "Content-Type": "application/x-www-form-urlencoded",
}


class Changes:
    """Tells of writes, whoever made them."""

    def __init__(self, provider: Provider, notices: Notices) -> None:
        self._provider = provider
        self._notices = notices

    async def tell_of_write(self, method: str, path: str, answered: Answer) -> None:
        """Tells what Stripe tells of this request once it has answered it so."""
        if not (answered.ok and self._notices.wanted):
            return
        if (method, path) == ("POST", REFUNDS):
            refund = answered.json()
            self._notices.tell("refund.created", refund)
            self._notices.tell("charge.refunded", await self._read("charges", refund["charge"]))
        elif path.startswith(_SUBSCRIPTIONS) and method in ("POST", "DELETE"):
            word = "updated" if method == "POST" else "deleted"
            self._notices.tell(f"customer.subscription.{word}", answered.json())

    async def tell_of_object(self, object_id: str, fields: JsonObject) -> None:
        """Tells that these fields of an object have changed by themselves."""
        if not self._notices.wanted:
            return
        kind = object_id.partition("_")[0]
        if kind == "re":
            refund = await self._read("refunds", object_id)
            self._notices.tell("refund.updated", refund)
            self._notices.tell("charge.refund.updated", refund)
            if fields.get("status") == "failed":
                self._notices.tell("refund.failed", refund)
        elif kind == "sub":
            subscription = await self._read("subscriptions", object_id)
            self._notices.tell("customer.subscription.updated", subscription)
        elif kind == "ch" and "disputed" in fields:
            word = "created" if fields["disputed"] else "closed"
            dispute = {"id": f"dp_{object_id}", "object": "dispute", "charge": object_id}
            self._notices.tell(f"charge.dispute.{word}", dispute)

    async def _read(self, kind: str, object_id: str) -> JsonObject:
        found = await self._provider.execute("GET", f"/v1/{kind}/{object_id}", "", DASHBOARD, "")
        return found.json()
