"""The proxy's own controls, under `/_sandbox/`."""

import json
from typing import Any

from aiohttp import web
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from sandbox.stripe_proxy.faults import Fault
from sandbox.stripe_proxy.gateway import Gateway
from sandbox.stripe_proxy.overlay import Overlay


class _Advance(BaseModel):
    model_config = ConfigDict(extra="forbid")

    advance_seconds: float = Field(ge=0)


class Control:
    """Arms faults, moves the clock, scripts statuses, and reports what happened."""

    def __init__(self, gateway: Gateway, overlay: Overlay) -> None:
        self._gateway = gateway
        self._overlay = overlay

    def routes(self) -> list[web.RouteDef]:
        return [
            web.get("/_sandbox/health", self.health),
            web.post("/_sandbox/faults", self.arm),
            web.get("/_sandbox/faults", self.faults),
            web.get("/_sandbox/log", self.log),
            web.post("/_sandbox/clock", self.advance),
            web.post("/_sandbox/objects/{id}", self.show),
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
        self._overlay.keep(request.match_info["id"], fields)
        return web.json_response(fields)

    async def release(self, _request: web.Request) -> web.Response:
        """Lets every held request go on."""
        return web.json_response({"released": self._gateway.holds.release()})

    async def reset(self, _request: web.Request) -> web.Response:
        """Forgets script, log, keys, shown fields and clock; the objects themselves stay."""
        for part in (self._gateway.faults, self._gateway.log, self._gateway.keys, self._overlay):
            part.clear()
        self._gateway.holds.release()
        self._gateway.clock.reset()
        return web.json_response({})


def _refuse(invalid: ValidationError) -> web.Response:
    details = json.loads(invalid.json(include_url=False, include_context=False))
    return web.json_response({"errors": details}, status=400)
