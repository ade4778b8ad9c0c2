"""Notices as Stripe sends them: signed, repeated until they are taken, and not always in order."""

import asyncio
import hashlib
import hmac
import json
import secrets
import time
from collections import deque
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from fnmatch import fnmatchcase
from types import TracebackType
from typing import Any, Self

import aiohttp
from pydantic import BaseModel, ConfigDict, Field

from sandbox.stripe_proxy.answers import JsonObject

# Stripe's own go out within a second or so; none comes before its write's answer could have.
_USUAL_DELAY_SECONDS = 0.2
# Stripe repeats for three days at growing intervals; nobody waits that long for a sandbox.
_MAX_DELIVERIES = 8
_FIRST_RETRY_SECONDS = 0.5
# API Gateway gives up after 30 s.
_TIMEOUT = aiohttp.ClientTimeout(total=30)
_MAX_ARMED = 1000
_MAX_TIMES = 1000
_MAX_SECONDS = 600
_MAX_KEPT = 1000


class NoticeFault(StrEnum):
    """What happens to a notice on its way."""

    LATE = "late"
    """It comes `seconds` late."""
    TWICE = "twice"
    """It comes twice."""
    OVERTAKEN = "overtaken"
    """It comes after the next one, or after `seconds` when there is none."""
    DROPPED = "dropped"
    """It never comes."""


class NoticeScript(BaseModel):
    """One line of the script; `type` may hold shell wildcards."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    type: str = "*"
    fault: NoticeFault
    times: int = Field(default=1, ge=1, le=_MAX_TIMES)
    seconds: float = Field(default=5.0, gt=0, le=_MAX_SECONDS)


class Endpoint(BaseModel):
    """Where notices go, and what they are signed with."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    url: str = Field(pattern=r"^http://127\.0\.0\.1:")
    host: str
    secret: str = Field(pattern=r"^whsec_")


@dataclass
class Delivery:
    """One notice and what became of it; a status 0 is a connection without an answer."""

    type: str
    object_id: str
    statuses: list[int] = field(default_factory=list)
    dropped: bool = False


@dataclass
class _Armed:
    script: NoticeScript
    times_left: int


class Notices:
    """Sends notices to the one endpoint, once there is one."""

    def __init__(self, wall_clock: Callable[[], float] = time.time) -> None:
        # Not the provider's clock, which a test moves by days: the receiver's is this machine's.
        self._wall_clock = wall_clock
        self._endpoint: Endpoint | None = None
        self._armed: list[_Armed] = []
        self._kept: deque[Delivery] = deque(maxlen=_MAX_KEPT)
        self._under_way: set[asyncio.Task[None]] = set()
        self._passed = asyncio.Event()
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
        for task in self._under_way:
            task.cancel()
        await asyncio.gather(*self._under_way, return_exceptions=True)
        if self._session is not None:
            await self._session.close()

    @property
    def wanted(self) -> bool:
        """Whether there is an endpoint."""
        return self._endpoint is not None

    def send_to(self, endpoint: Endpoint) -> None:
        """From now on notices go there."""
        self._endpoint = endpoint

    def arm(self, script: NoticeScript) -> None:
        """Raises OverflowError when the script is longer than any test needs."""
        if len(self._armed) >= _MAX_ARMED:
            raise OverflowError(f"more than {_MAX_ARMED} faults are armed")
        self._armed.append(_Armed(script, script.times))

    def tell(self, kind: str, found: JsonObject) -> None:
        """Sends a notice of this type about the object as it is now. Returns at once."""
        if self._endpoint is None:
            return
        delivery = Delivery(kind, str(found.get("id")))
        self._kept.append(delivery)
        script = self._take(kind)
        if script is not None and script.fault is NoticeFault.DROPPED:
            delivery.dropped = True
            return
        body = self._body(kind, found)
        copies = 2 if script is not None and script.fault is NoticeFault.TWICE else 1
        for _ in range(copies):
            task = asyncio.create_task(self._send(self._endpoint, delivery, body, script))
            self._under_way.add(task)
            task.add_done_callback(self._under_way.discard)

    def clear(self) -> None:
        """Forgets the script, what was sent, and what is under way; the endpoint stays."""
        self._armed.clear()
        self._kept.clear()
        for task in self._under_way:
            task.cancel()

    def report(self) -> dict[str, Any]:
        armed = [
            {**one.script.model_dump(mode="json"), "times": one.times_left} for one in self._armed
        ]
        return {"armed": armed, "sent": [asdict(one) for one in self._kept]}

    def _take(self, kind: str) -> NoticeScript | None:
        for armed in self._armed:
            if fnmatchcase(kind, armed.script.type):
                armed.times_left -= 1
                if armed.times_left == 0:
                    self._armed.remove(armed)
                return armed.script
        return None

    def _body(self, kind: str, found: JsonObject) -> bytes:
        event = {
            "id": f"evt_{secrets.token_hex(12)}",
            "object": "event",
            "created": int(self._wall_clock()),
            "type": kind,
            "data": {"object": found},
        }
        return json.dumps(event, indent=2).encode()

    async def _send(
        self, endpoint: Endpoint, delivery: Delivery, body: bytes, script: NoticeScript | None
    ) -> None:
        await self._wait(script)
        for number in range(_MAX_DELIVERIES):
            status = await self._post(endpoint, body)
            delivery.statuses.append(status)
            if 200 <= status < 300:
                self._passed.set()
                return
            await asyncio.sleep(_FIRST_RETRY_SECONDS * 2**number)

    async def _wait(self, script: NoticeScript | None) -> None:
        await asyncio.sleep(_USUAL_DELAY_SECONDS)
        if script is not None and script.fault is NoticeFault.LATE:
            await asyncio.sleep(script.seconds)
        if script is not None and script.fault is NoticeFault.OVERTAKEN:
            self._passed.clear()
            try:
                async with asyncio.timeout(script.seconds):
                    await self._passed.wait()
            except TimeoutError:
                return

    async def _post(self, endpoint: Endpoint, body: bytes) -> int:
        """The status of one delivery, signed anew as each is; 0 for no answer."""
        if self._session is None:
            raise RuntimeError("the notices' session is not open")
        timestamp = str(int(self._wall_clock()))
        signed = timestamp.encode() + b"." + body
        signature = hmac.new(endpoint.secret.encode(), signed, hashlib.sha256).hexdigest()
        headers = {
            "Host": endpoint.host,
            "Content-Type": "application/json; charset=utf-8",
            "Stripe-Signature": f"t={timestamp},v1={signature}",
        }
        try:
            async with self._session.post(endpoint.url, data=body, headers=headers) as response:
                await response.read()
                return response.status
        except (aiohttp.ClientError, TimeoutError):
            return 0
