"""The proxy's own controls, under `/_sandbox/`."""

import json
from typing import Any
from urllib.parse import urlencode

from aiohttp import web
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from sandbox.stripe_proxy.changes import DASHBOARD
from sandbox.stripe_proxy.faults import Fault
from sandbox.stripe_proxy.gateway import Gateway
from sandbox.stripe_proxy.notices import Endpoint, Notices, NoticeScript
from sandbox.stripe_proxy.overlay import Overlay


class _Advance(BaseModel):
    model_config = ConfigDict(extra="forbid")

    advance_seconds: float = Field(ge=0)


class Control:
    """Arms faults, moves the clock, scripts statuses, and reports what happened."""

    def __init__(self, gateway: Gateway, overlay: Overlay, notices: Notices) -> None:
        self._gateway = gateway
        self._overlay = overlay
        self._notices = notices

    def routes(self) -> list[web.RouteDef]:
        return [
            web.get("/_sandbox/health", self.health),
            web.post("/_sandbox/faults", self.arm),
            web.get("/_sandbox/faults", self.faults),
            web.get("/_sandbox/log", self.log),
            web.post("/_sandbox/clock", self.advance),
            web.post("/_sandbox/objects/{id}", self.show),
            web.post("/_sandbox/dashboard/{path:.+}", self.write),
            web.post("/_sandbox/endpoint", self.send_notices),
            web.post("/_sandbox/notices", self.arm_notice),
            web.get("/_sandbox/notices", self.notices),
            web.post("/_sandbox/release", self.release),
            web.post("/_sandbox/reset", self.reset),
        ]

    async def health(self, _request: web.Request) -> web.Response:
        return web.json_response({"status": "ready"})

    async def arm(self, request: web.Request) -> web.Response:
        """Adds a fault to the script; 400 says what is wrong with it."""
        try:
            fault = Fault.model_validate_json(await request.read())
        except ValidationError as invalid:
            return _refuse(invalid)
        self._gateway.faults.arm(fault)
        return web.json_response(self._gateway.faults.report(), status=201)

    async def faults(self, _request: web.Request) -> web.Response:
        return web.json_response(self._gateway.faults.report())

    async def log(self, request: web.Request) -> web.Response:
        """The requests seen, oldest first, by `method` and `path` where these are given."""
        entries = self._gateway.log.matching(request.query.get("method"), request.query.get("path"))
        return web.json_response({"requests": entries})

    async def advance(self, request: web.Request) -> web.Response:
        try:
            wanted = _Advance.model_validate_json(await request.read())
        except ValidationError as invalid:
            return _refuse(invalid)
        self._gateway.clock.advance(wanted.advance_seconds)
        return web.json_response({"offset_seconds": self._gateway.clock.offset_seconds})

    async def show(self, request: web.Request) -> web.Response:
        """Shows the given fields on an object from now on: a refund's later `status`, say."""
        fields: dict[str, Any] = await request.json()
        object_id = request.match_info["id"]
        self._overlay.keep(object_id, fields)
        await self._gateway.changes.tell_of_object(object_id, fields)
        return web.json_response(fields)

    async def write(self, request: web.Request) -> web.Response:
        """Makes a write as somebody at the dashboard does: without a key, a fault or the log."""
        path = f"/v1/{request.match_info['path']}"
        params: dict[str, Any] = await request.json()
        answered = await self._gateway.provider.execute(
            "POST", path, "", DASHBOARD, urlencode(params)
        )
        await self._gateway.changes.tell_of_write("POST", path, answered)
        return web.Response(
            status=answered.status, body=answered.body, content_type="application/json"
        )

    async def send_notices(self, request: web.Request) -> web.Response:
        """Sends notices to this endpoint from now on; 400 says what is wrong with it."""
        try:
            endpoint = Endpoint.model_validate_json(await request.read())
        except ValidationError as invalid:
            return _refuse(invalid)
        self._notices.send_to(endpoint)
        return web.json_response({"url": endpoint.url})

    async def arm_notice(self, request: web.Request) -> web.Response:
        """Adds a fault of notices to the script; 400 says what is wrong with it."""
        try:
            script = NoticeScript.model_validate_json(await request.read())
        except ValidationError as invalid:
            return _refuse(invalid)
        self._notices.arm(script)
        return web.json_response(self._notices.report(), status=201)

    async def notices(self, _request: web.Request) -> web.Response:
        return web.json_response(self._notices.report())

    async def release(self, _request: web.Request) -> web.Response:
        """Lets every held request go on."""
        return web.json_response({"released": self._gateway.holds.release()})

    async def reset(self, _request: web.Request) -> web.Response:
        """Forgets scripts, log, keys, shown fields and clock; the objects themselves stay."""
        for part in (
            self._gateway.faults,
            self._gateway.log,
            self._gateway.keys,
            self._overlay,
            self._notices,
        ):
            part.clear()
        self._gateway.holds.release()
        self._gateway.clock.reset()
        return web.json_response({})


def _refuse(invalid: ValidationError) -> web.Response:
    details = json.loads(invalid.json(include_url=False, include_context=False))
    return web.json_response({"errors": details}, status=400)
