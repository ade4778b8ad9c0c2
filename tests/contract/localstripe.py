"""localstripe as it comes, in place of Stripe. ``test_localstripe.py`` pins what it lacks."""

import ssl
from collections.abc import Mapping

from providers.stripe_client import StripeLibrary
from providers.stripe_promises import CALL_TIMEOUT_SECONDS
from providers.stripe_transport import Answer, SocketTransport
from sandbox.stripe_server import API_KEY
from tests.fakes.benches import Bench, Guard, billing_bench, refund_bench

_REASON = b"&reason=requested_by_customer"


class WithoutReason:
    """Sends the adapter's bytes, and leaves out a refund's reason, which localstripe refuses.

    Nothing else is touched. Stripe keeps a reason for its own display, and no look-up reads it.
    """

    def __init__(self, base_address: str) -> None:
        """Send to ``base_address``."""
        self._send = SocketTransport(base_address, ssl.create_default_context, CALL_TIMEOUT_SECONDS)

    def __call__(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> Answer:
        """Return localstripe's answer."""
        if (method, path) != ("POST", "/v1/refunds"):
            return self._send(method, path, headers, body)
        without = body.removesuffix(_REASON)
        if without == body:
            raise AssertionError("A refund's reason is not where this looks for it.")
        return self._send(method, path, headers, without)


def localstripe_bench(url: str, operation: str, subscriber: Mapping[str, str]) -> Bench:
    """Return an operation over localstripe: all but the refund send the adapter's own bytes."""
    if operation == "refund":
        bench = refund_bench(StripeLibrary(API_KEY, url, WithoutReason(url)), subscriber)
    else:
        bench = billing_bench(StripeLibrary(API_KEY, url), subscriber)
        bench.shown_mark = None  # it takes a subscription's metadata, and forgets it
    bench.guard = Guard.NOTHING  # it knows no keys
    return bench
