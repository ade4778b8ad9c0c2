"""What every kind of failure means, through real sockets and the vendors' own libraries."""

import json
import socket
import ssl
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import boto3
import pytest
from botocore.config import Config

from ledger.contract import ErrorClass, FaultKind, ProviderContract
from ledger.provider import ProviderFault
from providers import ses_mail, stripe_billing, stripe_refunds
from providers.ses_client import SES_CONFIG, SesMailer
from providers.stripe_client import StripeLibrary
from providers.stripe_transport import SocketTransport
from tests.fakes.raw_server import (
    LOOPBACK,
    Behaviour,
    RawServer,
    answers,
    closes,
    refusing_port,
    resets,
    starts_and_stays_silent,
    stays_silent,
    unanswering_port,
)

# Waited out in full by the rows that time out, and by no other.
_SHORT_SECONDS = 0.3
_LONG_SECONDS = 20.0

Write = Callable[[str], object]
"""Make the write once, at this base address."""


@dataclass(frozen=True)
class _Side:
    """One provider: how to write to it, and its error table."""

    contract: ProviderContract
    write: Callable[[str, float, float], object]
    error_body: Callable[[int, str], Behaviour]


def _write_refund(base: str, connect_seconds: float, read_seconds: float) -> object:
    transport = SocketTransport(
        base, ssl.create_default_context, read_seconds, connect_timeout_seconds=connect_seconds
    )
    return StripeLibrary("sk_test_1", base, transport).create_refund({"charge": "ch_1"}, "key_1")


def _write_mail(base: str, connect_seconds: float, read_seconds: float) -> object:
    limits = Config(connect_timeout=connect_seconds, read_timeout=read_seconds)
    client: Any = boto3.client(
        "sesv2",
        region_name="eu-central-1",
        endpoint_url=base,
        aws_access_key_id="sample",
        aws_secret_access_key="sample",
        config=SES_CONFIG.merge(limits),
    )
    try:
        return SesMailer(client, "shop@example.com", None).send("c@example.com", "s", "t", {})
    finally:
        client.close()


def _stripe_error(status: int, code: str) -> Behaviour:
    error = {"type": "invalid_request_error", "code": code, "message": "c@example.com"}
    return answers(status, json.dumps({"error": error}).encode())


def _ses_error(status: int, code: str) -> Behaviour:
    body = json.dumps({"message": "c@example.com"}).encode()
    return answers(status, body, (f"x-amzn-ErrorType: {code}", "Content-Type: application/json"))


_STRIPE = _Side(stripe_refunds.CONTRACT, _write_refund, _stripe_error)
_SES = _Side(ses_mail.CONTRACT, _write_mail, _ses_error)
_SIDES = pytest.mark.parametrize("side", [_STRIPE, _SES], ids=["stripe", "ses"])


def _fault(write: Callable[[], object]) -> ProviderFault:
    with pytest.raises(ProviderFault) as caught:
        write()
    return caught.value


def _fault_of(side: _Side, behave: Behaviour, read_seconds: float = _LONG_SECONDS) -> ProviderFault:
    with RawServer(behave) as server:
        base = f"http://{LOOPBACK}:{server.port}"
        return _fault(lambda: side.write(base, _LONG_SECONDS, read_seconds))


def _class_of(side: _Side, fault: ProviderFault) -> ErrorClass:
    return side.contract.classify(fault.kind, fault.status, fault.code)


@contextmanager
def _no_such_host(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    def refuse(*_arguments: object, **_options: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    with monkeypatch.context() as patched:
        patched.setattr(socket, "getaddrinfo", refuse)
        yield "https://provider.invalid"


@contextmanager
def _refused(_monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    with refusing_port() as port:
        yield f"http://{LOOPBACK}:{port}"


@contextmanager
def _connect_timeout(_monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    with unanswering_port() as port:
        yield f"http://{LOOPBACK}:{port}"


@contextmanager
def _tls_failure(_monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    with RawServer(answers(400, b"this port speaks no TLS")) as server:
        yield f"https://{LOOPBACK}:{server.port}"


@_SIDES
@pytest.mark.parametrize(
    "unreachable",
    [_no_such_host, _refused, _connect_timeout, _tls_failure],
    ids=lambda f: f.__name__,
)
def test_a_request_that_never_left_is_not_done(
    side: _Side, unreachable: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ExitStack() as stack:
        base = stack.enter_context(unreachable(monkeypatch))
        short_connect = unreachable is _connect_timeout
        connect_seconds = _SHORT_SECONDS if short_connect else _LONG_SECONDS

        fault = _fault(lambda: side.write(base, connect_seconds, _LONG_SECONDS))

    assert fault.kind is FaultKind.NEVER_SENT
    assert _class_of(side, fault) is ErrorClass.NOT_REACHED


@_SIDES
@pytest.mark.parametrize(
    ("behave", "read_seconds"),
    [
        (stays_silent, _SHORT_SECONDS),
        (starts_and_stays_silent, _SHORT_SECONDS),
        (resets, _LONG_SECONDS),
        (closes, _LONG_SECONDS),
    ],
    ids=["read timeout", "timeout within the body", "reset", "closed without an answer"],
)
def test_an_answer_lost_after_the_request_was_written_is_unknown(
    side: _Side, behave: Behaviour, read_seconds: float
) -> None:
    fault = _fault_of(side, behave, read_seconds)

    assert fault.kind is FaultKind.NO_ANSWER
    assert _class_of(side, fault) is ErrorClass.UNKNOWN


@_SIDES
@pytest.mark.parametrize(
    "behave",
    [
        answers(200, b'{"id": "re_1", "obj'),
        answers(200, b""),
        answers(200, b"[]"),
        answers(200, b"{}"),
        answers(200, b'{"object": "refund", "MessageId": 7}'),
        answers(302, b"", ("Location: /elsewhere",)),
        answers(307, b"", ("Location: /elsewhere",)),
    ],
    ids=[
        "malformed",
        "empty",
        "no object",
        "empty object",
        "wrong types",
        "redirect",
        "keep method",
    ],
)
def test_an_answer_that_cannot_be_read_is_unknown(side: _Side, behave: Behaviour) -> None:
    fault = _fault_of(side, behave)

    assert fault.kind is FaultKind.UNREADABLE
    assert _class_of(side, fault) is ErrorClass.UNKNOWN


@_SIDES
@pytest.mark.parametrize("status", [400, 401, 402, 403, 404])
def test_a_definite_refusal_is_refused_and_quotes_nothing(side: _Side, status: int) -> None:
    fault = _fault_of(side, side.error_body(status, "some_code"))

    assert (fault.kind, fault.status, fault.code) == (FaultKind.ANSWERED, status, "some_code")
    assert _class_of(side, fault) is ErrorClass.REFUSED
    assert "@" not in str(fault)


@_SIDES
@pytest.mark.parametrize("status", [408, 409, 413, 418, 500, 502, 503, 504])
def test_a_status_that_the_table_does_not_list_is_unknown(side: _Side, status: int) -> None:
    fault = _fault_of(side, side.error_body(status, "some_code"))

    assert (fault.kind, fault.status) == (FaultKind.ANSWERED, status)
    assert _class_of(side, fault) is ErrorClass.UNKNOWN


@_SIDES
@pytest.mark.parametrize("code", ["lock_timeout", "TooManyRequestsException"])
def test_a_request_turned_away_by_rate_is_not_done(side: _Side, code: str) -> None:
    fault = _fault_of(side, side.error_body(429, code))

    assert _class_of(side, fault) is ErrorClass.NOT_REACHED


@pytest.mark.parametrize(
    ("status", "error", "meaning"),
    [
        (
            409,
            {"type": "idempotency_error", "code": "idempotency_key_in_use"},
            ErrorClass.SAME_KEY_AGAIN,
        ),
        (400, {"type": "idempotency_error"}, ErrorClass.KEY_CONFLICT),
        (400, {"type": "idempotency_error", "code": "a_new_word"}, ErrorClass.KEY_CONFLICT),
        (
            400,
            {"type": "invalid_request_error", "code": "charge_already_refunded"},
            ErrorClass.COMPARE,
        ),
        (400, {"type": "invalid_request_error"}, ErrorClass.REFUSED),
    ],
)
@pytest.mark.parametrize("contract", [stripe_refunds.CONTRACT, stripe_billing.CONTRACT])
def test_stripes_own_words_refine_the_status(
    contract: ProviderContract, status: int, error: dict[str, str], meaning: ErrorClass
) -> None:
    fault = _fault_of(_STRIPE, answers(status, json.dumps({"error": error}).encode()))

    assert contract.classify(fault.kind, fault.status, fault.code) is meaning


@pytest.mark.parametrize(
    ("status", "code", "meaning"),
    [
        (400, "MessageRejected", ErrorClass.REFUSED),
        (400, "MailFromDomainNotVerifiedException", ErrorClass.REFUSED),
        (400, "AccountSuspendedException", ErrorClass.REFUSED),
        (400, "SendingPausedException", ErrorClass.REFUSED),
        (400, "BadRequestException", ErrorClass.REFUSED),
        (400, "LimitExceededException", ErrorClass.NOT_REACHED),
    ],
)
def test_sess_own_words_refine_the_status(status: int, code: str, meaning: ErrorClass) -> None:
    fault = _fault_of(_SES, _ses_error(status, code))

    assert _class_of(_SES, fault) is meaning


@_SIDES
@pytest.mark.parametrize("status", [400, 401, 402, 403, 404, 429, 502])
@pytest.mark.parametrize(
    "page", [b"<html>Blocked</html>", b"{}", b'{"error": "forbidden"}', b'{"message": "Forbidden"}']
)
def test_a_page_of_something_in_between_is_no_word_of_the_provider(
    side: _Side, status: int, page: bytes
) -> None:
    fault = _fault_of(side, answers(status, page))

    assert (fault.kind, fault.status, fault.code) == (FaultKind.UNREADABLE, status, None)
    assert _class_of(side, fault) is ErrorClass.UNKNOWN


@_SIDES
@pytest.mark.parametrize(
    "code", ["x" * 500_000, "No such customer: ada@example.com", "ada@example.com", "7"]
)
def test_what_has_not_the_shape_of_a_code_is_not_kept(side: _Side, code: str) -> None:
    fault = _fault_of(side, side.error_body(400, code))

    assert code not in str(fault)
    assert len(fault.code or "") <= 64


def test_an_error_with_an_odd_code_still_goes_by_its_type() -> None:
    error = {"type": "card_error", "code": "ada@example.com"}

    fault = _fault_of(_STRIPE, answers(402, json.dumps({"error": error}).encode()))

    assert (fault.kind, fault.code) == (FaultKind.ANSWERED, "card_error")


def test_a_body_cut_short_is_no_refusal() -> None:
    body = b'{"error": {"type": "card_error"}}'

    fault = _fault_of(_STRIPE, answers(402, body, length=len(body) + 100))

    assert fault.kind is FaultKind.NO_ANSWER
