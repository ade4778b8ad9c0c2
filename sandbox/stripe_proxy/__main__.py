"""`python -m sandbox.stripe_proxy --port P --upstream-port Q [--killable-below PID]`."""

import argparse
from collections.abc import AsyncIterator

from aiohttp import web

from sandbox.ports import LOOPBACK
from sandbox.stripe_proxy.changes import Changes
from sandbox.stripe_proxy.clock import Clock
from sandbox.stripe_proxy.control import Control
from sandbox.stripe_proxy.faults import FaultScript
from sandbox.stripe_proxy.gateway import Gateway
from sandbox.stripe_proxy.holds import Holds
from sandbox.stripe_proxy.idempotency import KeyStore
from sandbox.stripe_proxy.notices import Notices
from sandbox.stripe_proxy.overlay import Overlay
from sandbox.stripe_proxy.provider import Provider
from sandbox.stripe_proxy.request_log import RequestLog
from sandbox.stripe_proxy.upstream import Upstream


def application(upstream_url: str, killable_below: int | None) -> web.Application:
    """The proxy in front of the localstripe at `upstream_url`."""
    upstream = Upstream(upstream_url)
    overlay = Overlay()
    clock = Clock()
    notices = Notices()
    provider = Provider(upstream, overlay)
    changes = Changes(provider, notices)
    gateway = Gateway(
        provider=provider,
        changes=changes,
        keys=KeyStore(clock),
        faults=FaultScript(),
        log=RequestLog(),
        clock=clock,
        holds=Holds(),
        killable_below=killable_below,
    )

    async def open_upstream(_app: web.Application) -> AsyncIterator[None]:
        async with upstream, notices:
            yield

    app = web.Application()
    app.cleanup_ctx.append(open_upstream)
    app.router.add_routes(Control(gateway, overlay, notices).routes())
    app.router.add_route("*", "/{path:.*}", gateway.handle)
    return app


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m sandbox.stripe_proxy", description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--upstream-port", type=int, required=True)
    parser.add_argument(
        "--killable-below", type=int, help="the only process whose descendants a fault may kill"
    )
    options = parser.parse_args()
    app = application(f"http://{LOOPBACK}:{options.upstream_port}", options.killable_below)
    web.run_app(app, host=LOOPBACK, port=options.port, print=None)


if __name__ == "__main__":
    main()
