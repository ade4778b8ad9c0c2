"""One request through the proxy: log, fault, key, provider, and the answer or its loss."""

import asyncio
import secrets
from dataclasses import dataclass, replace

from aiohttp import web

from sandbox import kernel
from sandbox.stripe_proxy.answers import SERVER_ERROR, Answer, error
from sandbox.stripe_proxy.changes import Changes
from sandbox.stripe_proxy.clock import Clock
from sandbox.stripe_proxy.faults import Fault, FaultKind, FaultScript, Fired
from sandbox.stripe_proxy.holds import Holds
from sandbox.stripe_proxy.idempotency import KeyStore, fingerprint_of
from sandbox.stripe_proxy.provider import Provider
from sandbox.stripe_proxy.request_log import LoggedRequest, RequestLog

# The kernel ends a process in milliseconds; a loaded machine may need a little longer.
_KILL_TIMEOUT_SECONDS = 5.0


@dataclass(frozen=True)
class _Reply:
    answer: Answer
    replayed: bool


@dataclass
class Gateway:
    """Handles every request that is not a control."""

    provider: Provider
    changes: Changes
    keys: KeyStore
    faults: FaultScript
    log: RequestLog
    clock: Clock
    holds: Holds
    killable_below: int | None
    """Only processes below this one may be killed; None allows no kill at all."""

    async def handle(self, request: web.Request) -> web.StreamResponse:
        logged = await self._logged(request)
        fault = self.faults.take(logged.method, logged.path)
        if fault is None:
            return self._deliver(logged, await self._reply(request, logged, None))
        logged.fault = fault.fault
        if fault.fault is FaultKind.DROP_BEFORE_COMMIT:
            self._record(fault, logged)
            return _drop(request)
        reply = await self._reply(request, logged, fault)
        if fault.fault is FaultKind.COMMIT_THEN_KILL:
            await self._kill(request, fault, logged)
        else:
            self._record(fault, logged)
        if fault.loses_answer:
            return _drop(request)
        if fault.fault is FaultKind.COMMIT_THEN_HOLD:
            await self.holds.wait(fault.seconds)
        return self._deliver(logged, reply)

    async def _logged(self, request: web.Request) -> LoggedRequest:
        return self.log.add(
            received_at_ms=self.clock.now_ms(),
            method=request.method,
            path=request.path,
            query=request.rel_url.raw_query_string,
            key=request.headers.get("Idempotency-Key"),
            body=(await request.read()).decode(),
        )

    def _record(self, fault: Fault, logged: LoggedRequest) -> None:
        self.faults.fired.append(self._firing(fault, logged))

    def _firing(self, fault: Fault, logged: LoggedRequest) -> Fired:
        return Fired(
            fault=fault.fault,
            method=logged.method,
            path=logged.path,
            idempotency_key=logged.idempotency_key,
            fired_at_ms=self.clock.now_ms(),
        )

    async def _reply(
        self, request: web.Request, logged: LoggedRequest, fault: Fault | None
    ) -> _Reply:
        key = logged.idempotency_key
        if key is None or logged.method != "POST":
            return _Reply(await self._execute(request, logged, fault), replayed=False)
        known = self.keys.begin(key, fingerprint_of(logged.method, logged.path, logged.body))
        if known is not None:
            return _Reply(known, replayed=True)
        try:
            executed = await self._execute(request, logged, fault)
        except BaseException:
            self.keys.release(key)
            raise
        self.keys.finish(key, executed)
        return _Reply(executed, replayed=False)

    async def _execute(
        self, request: web.Request, logged: LoggedRequest, fault: Fault | None
    ) -> Answer:
        kind = None if fault is None else fault.fault
        if fault is not None and kind is FaultKind.HOLD:
            await self.holds.wait(fault.seconds)
        if fault is not None and kind is FaultKind.REFUSE:
            return _refused(fault)
        executed = await self.provider.execute(
            logged.method, logged.path, logged.query, request.headers, logged.body
        )
        await self.changes.tell_of_write(logged.method, logged.path, executed)
        return SERVER_ERROR if kind is FaultKind.COMMIT_THEN_500 else executed

    async def _kill(self, request: web.Request, fault: Fault, logged: LoggedRequest) -> None:
        """Kills the process at the other end, and only then records whether it is gone."""
        firing = self._firing(fault, logged)
        pid = await self._client(request)
        if pid is not None:
            gone = await asyncio.to_thread(kernel.kill_for_certain, pid, _KILL_TIMEOUT_SECONDS)
            firing = replace(firing, killed_pid=pid, killed=gone)
        self.faults.fired.append(firing)

    async def _client(self, request: web.Request) -> int | None:
        """The process at the other end, None where it may not be killed."""
        if self.killable_below is None or request.transport is None:
            return None
        client_port: int = request.transport.get_extra_info("peername")[1]
        server_port: int = request.transport.get_extra_info("sockname")[1]
        return await asyncio.to_thread(
            kernel.client_process, client_port, server_port, self.killable_below
        )

    def _deliver(self, logged: LoggedRequest, reply: _Reply) -> web.Response:
        logged.status = reply.answer.status
        logged.replayed = reply.replayed
        headers = {"Request-Id": f"req_{secrets.token_hex(7)}"}
        if reply.replayed:
            headers["Idempotent-Replayed"] = "true"
        return web.Response(
            status=reply.answer.status,
            body=reply.answer.body,
            content_type="application/json",
            headers=headers,
        )


def _refused(fault: Fault) -> Answer:
    kind = "card_error" if fault.status == 402 else "invalid_request_error"
    return error(fault.status, kind, "Refused by the sandbox's script.", fault.code)


def _drop(request: web.Request) -> web.Response:
    """Resets the connection; the response returned can no longer be sent."""
    if request.transport is not None:
        request.transport.abort()
    return web.Response()
