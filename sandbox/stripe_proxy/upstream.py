"""Requests to the localstripe behind the proxy."""

from collections.abc import Mapping
from types import TracebackType
from typing import Self

import aiohttp

from sandbox.stripe_proxy.answers import Answer, JsonObject, answer

# Same machine, in memory: more than this means that it hangs.
_TIMEOUT = aiohttp.ClientTimeout(total=30)
_PASSED_ON = ("Authorization", "Content-Type")
_PAGE_SIZE = 100
_MAX_PAGES = 100


class Upstream:
    """One localstripe, by its port."""

    def __init__(self, base_url: str) -> None:
        self._base_url = base_url
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        self._session = aiohttp.ClientSession(timeout=_TIMEOUT, trust_env=False)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._session is not None:
            await self._session.close()

    async def send(
        self, method: str, target: str, headers: Mapping[str, str], body: str = ""
    ) -> Answer:
        """localstripe's answer; `target` is the path with its query."""
        if self._session is None:
            raise RuntimeError("the upstream session is not open")
        passed_on = {name: headers[name] for name in _PASSED_ON if name in headers}
        async with self._session.request(
            method, f"{self._base_url}{target}", headers=passed_on, data=body or None
        ) as response:
            return _with_code(Answer(response.status, await response.read()))

    async def all_items(self, target: str, headers: Mapping[str, str]) -> list[JsonObject] | Answer:
        """Every object of a list, in its order, or the refusal to list it."""
        items: list[JsonObject] = []
        after = ""
        joint = "&" if "?" in target else "?"
        for _ in range(_MAX_PAGES):
            page = await self.send("GET", f"{target}{joint}limit={_PAGE_SIZE}{after}", headers)
            if not page.ok:
                return page
            content = page.json()
            items.extend(content["data"])
            if not content["has_more"]:
                return items
            after = f"&starting_after={items[-1]['id']}"
        raise RuntimeError(f"{target} has more than {_MAX_PAGES * _PAGE_SIZE} objects")


def _with_code(received: Answer) -> Answer:
    """Stripe names a missing object by a code; localstripe says only 404."""
    if received.status != 404 or not received.body.startswith(b"{"):
        return received
    content = received.json()
    content["error"].setdefault("code", "resource_missing")
    return answer(404, content)
