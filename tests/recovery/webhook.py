"""Stripe's side of its notices to one world: signed, delivered to the real handler, repeated."""

import hashlib
import hmac
import json
from collections.abc import Mapping
from typing import Any
from unittest import mock

from aws_lambda_powertools.utilities.typing import LambdaContext

import events.stripe_notice
from ledger.ports import Ports
from tests.fakes.clock import FakeTimeLeft
from tests.fakes.stripe_world import Refund
from tests.recovery.tap import ProcessDied
from tests.recovery.world import World

SIGNING_SECRET = "whsec_sample"
# What the route's function is given; see the API's stack.
FUNCTION_MS = 28_000
PROCESS = "webhook"

Response = Mapping[str, Any]


def signature(body: bytes, at_ms: int, secret: str = SIGNING_SECRET) -> str:
    """Return the header by which Stripe vouches for ``body``."""
    timestamp = str(at_ms // 1000)
    signed = hmac.new(secret.encode(), timestamp.encode() + b"." + body, hashlib.sha256)
    return f"t={timestamp},v1={signed.hexdigest()}"


def notice(kind: str, found: Mapping[str, Any]) -> bytes:
    """Return the body of a notice about an object as it was when the notice was made."""
    event = {"id": "evt_1", "object": "event", "type": kind, "data": {"object": dict(found)}}
    return json.dumps(event, ensure_ascii=False).encode()


class Webhook:
    """Delivers notices to a world."""

    def __init__(self, world: World) -> None:
        """Deliver to ``world``."""
        self._world = world

    def about_refund(self, kind: str, made: Refund, **shown: str) -> Response | None:
        """Deliver a notice about a refund; ``shown`` is what it says beside the truth."""
        found = self._world.stripe.world.export_refund(made) | shown
        return self.deliver(notice(kind, found))

    def about_subscription(self, subscription_id: str) -> Response | None:
        """Deliver a notice that a subscription was changed."""
        found = self._world.stripe.world.subscriptions[subscription_id].export()
        return self.deliver(notice("customer.subscription.updated", found))

    def deliver(self, body: bytes, header: str | None = None) -> Response | None:
        """Return the response to one delivery, signed unless a header is given; None when lost."""
        signed = signature(body, self._world.clock.now_ms()) if header is None else header
        request = {"headers": {"Stripe-Signature": signed}, "body": body.decode()}
        try:
            response: Response = self._world.processes.run(
                PROCESS, lambda ports: self._handle(ports, request)
            )
        except ProcessDied:
            return None
        return response

    def _handle(self, ports: Ports, request: Mapping[str, object]) -> Response:
        clock = self._world.clock
        wiring: dict[str, Any] = {
            "CLOCK": clock,
            "ports_and_stripe": lambda: (ports, self._world.outside.stripe_library()),
            "signing_secret": lambda: SIGNING_SECRET,
            "time_left": lambda _context: FakeTimeLeft(clock, clock.now_ms() + FUNCTION_MS),
        }
        with mock.patch.multiple(events.stripe_notice, **wiring):
            return events.stripe_notice.handler(request, LambdaContext())


def status_of(response: Response | None) -> int | None:
    """Return the status of a response, None when it was lost."""
    return None if response is None else int(response["statusCode"])
