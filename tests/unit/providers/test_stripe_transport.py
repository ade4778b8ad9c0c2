"""One exchange with Stripe: what is sent, what is not, and where it ends."""

import ssl
from collections.abc import Iterator
from itertools import chain, repeat

import pytest

from ledger.contract import FaultKind
from ledger.provider import ProviderFault
from providers import stripe_transport
from providers.stripe_client import StripeLibrary
from providers.stripe_transport import SocketTransport
from tests.fakes.raw_server import LOOPBACK, RawServer, answers, says, starts_and_stays_silent

_REFUND = (
    b'{"object": "refund", "id": "re_1", "amount": 7900, "charge": "ch_1", "currency": "usd",'
    b' "status": "succeeded", "metadata": {}}'
)


def test_a_write_carries_its_key_and_exactly_the_frozen_parameters_in_canonical_order() -> None:
    with RawServer(answers(200, _REFUND)) as server:
        library = StripeLibrary("sk_test_1", f"http://{LOOPBACK}:{server.port}")
        library.create_refund(
            {"reason": "r", "charge": "ch_1", "metadata": {"run_id": "r1", "effect_id": "e1"}},
            "key_1",
        )

    head, _, body = bytes(server.requests).partition(b"\r\n\r\n")
    assert head.startswith(b"POST /v1/refunds HTTP/1.1\r\n")
    assert b"\r\nIdempotency-Key: key_1\r\n" in head
    assert b"\r\nAuthorization: Bearer sk_test_1\r\n" in head
    assert b"\r\nConnection: close" in head
    assert b"Telemetry" not in head
    assert body == b"charge=ch_1&metadata[effect_id]=e1&metadata[run_id]=r1&reason=r"


@pytest.mark.parametrize(
    ("head", "body"),
    [
        ("Content-Length: 5\r\nConnection: close", b"hello"),
        ("Content-Length: 5", b"hello"),
        ("Connection: close", b"hello"),
        ("Transfer-Encoding: chunked", b"2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n"),
        ("Content-Length: 0", b""),
    ],
)
def test_a_whole_body_is_read_however_its_end_is_marked(head: str, body: bytes) -> None:
    with RawServer(says(f"HTTP/1.1 200 OK\r\n{head}\r\n\r\n".encode() + body)) as server:
        transport = SocketTransport(
            f"http://{LOOPBACK}:{server.port}", ssl.create_default_context, timeout_seconds=20
        )
        answer = transport("GET", "/", {}, b"")

    assert (answer.status, answer.body) == (200, b"hello" if body else b"")


def test_a_chunked_body_cut_short_is_no_answer() -> None:
    cut = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel"
    with RawServer(says(cut)) as server:
        transport = SocketTransport(
            f"http://{LOOPBACK}:{server.port}", ssl.create_default_context, timeout_seconds=20
        )
        with pytest.raises(ProviderFault) as caught:
            transport("GET", "/", {}, b"")

    assert caught.value.kind is FaultKind.NO_ANSWER


def test_the_time_limit_covers_the_whole_body_not_each_part_of_it() -> None:
    # Each look at the clock takes 4 s: connect, send, first part, second part.
    ticks: Iterator[float] = iter(range(0, 400, 4))
    with RawServer(starts_and_stays_silent) as server:
        transport = SocketTransport(
            f"http://{LOOPBACK}:{server.port}",
            ssl.create_default_context,
            timeout_seconds=10,
            monotonic=lambda: next(ticks),
        )
        with pytest.raises(ProviderFault) as caught:
            transport("GET", "/", {}, b"")

    assert caught.value.kind is FaultKind.NO_ANSWER


def _slow_to_connect(port: int) -> SocketTransport:
    """Return a transport whose clock shows 0 s before connecting and 8 s ever after."""
    ticks = chain((0.0,), repeat(8.0))
    return SocketTransport(
        f"http://{LOOPBACK}:{port}",
        ssl.create_default_context,
        timeout_seconds=10,
        query_timeout_seconds=5,
        monotonic=lambda: next(ticks),
    )


def test_a_write_may_take_longer_than_a_query() -> None:
    with RawServer(answers(200, b"hello")) as server:
        assert _slow_to_connect(server.port)("POST", "/", {}, b"x").body == b"hello"


def test_a_query_whose_time_is_used_up_by_connecting_is_never_sent() -> None:
    with RawServer(answers(200, b"hello")) as server, pytest.raises(ProviderFault) as caught:
        _slow_to_connect(server.port)("GET", "/", {}, b"")

    assert caught.value.kind is FaultKind.NEVER_SENT
    assert server.requests == b""


def test_an_answer_without_end_is_not_read_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stripe_transport, "MAX_ANSWER_BYTES", 1000)
    with RawServer(answers(200, b"x" * 5000)) as server:
        transport = SocketTransport(
            f"http://{LOOPBACK}:{server.port}", ssl.create_default_context, timeout_seconds=20
        )
        with pytest.raises(ProviderFault) as caught:
            transport("GET", "/", {}, b"")

    assert (caught.value.kind, caught.value.status) == (FaultKind.UNREADABLE, 200)


@pytest.mark.parametrize(
    "address", ["http://api.stripe.com", "http://127.0.0.1.example.com", "ftp://localhost", ""]
)
def test_an_address_that_would_show_the_api_key_is_refused(address: str) -> None:
    with pytest.raises(ValueError, match="neither https nor this machine"):
        SocketTransport(address, ssl.create_default_context, timeout_seconds=10)


def test_no_key_no_client() -> None:
    with pytest.raises(ValueError, match="needs an API key"):
        StripeLibrary("", "https://api.stripe.com")
