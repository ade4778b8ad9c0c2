"""The provider as a client should see it: localstripe, with what it lacks."""

from collections.abc import Mapping

from sandbox.stripe_proxy.answers import Answer
from sandbox.stripe_proxy.overlay import Overlay
from sandbox.stripe_proxy.refunds import PATH as REFUNDS
from sandbox.stripe_proxy.refunds import Refunds
from sandbox.stripe_proxy.upstream import Upstream


class Provider:
    """Executes one request, without keys and without faults."""

    def __init__(self, upstream: Upstream, overlay: Overlay) -> None:
        self._upstream = upstream
        self._overlay = overlay
        self._refunds = Refunds(upstream, overlay)

    async def execute(
        self, method: str, path: str, query: str, headers: Mapping[str, str], body: str
    ) -> Answer:
        """The answer, after whatever it writes has been written."""
        if (method, path) == ("GET", REFUNDS):
            return await self._refunds.page(headers, query)
        passed_on, kept = self._overlay.split(path, body) if method == "POST" else (body, {})
        if (method, path) == ("POST", REFUNDS):
            received = await self._refunds.create(headers, passed_on)
        else:
            target = f"{path}?{query}" if query else path
            received = await self._upstream.send(method, target, headers, passed_on)
        if received.ok and kept:
            self._overlay.keep(received.json()["id"], kept)
        return self._overlay.show(received)
