"""What a failed request to S3 means, through real sockets and boto3 itself."""

from contextlib import closing
from typing import Any

import boto3
import pytest
from botocore.config import Config

from ledger.contract import ErrorClass, FaultKind
from ledger.provider import ProviderFault
from providers.s3_client import S3_CONFIG, S3ArtifactStore
from providers.s3_promises import CONTRACT
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
)

_SHORT_SECONDS = 0.3
_LONG_SECONDS = 20.0
_PAGE = b"<html><body>Blocked: ada@example.com</body></html>"


def _error(code: str) -> bytes:
    return f"<Error><Code>{code}</Code><Message>ada@example.com</Message></Error>".encode()


def _store(port: int, read_seconds: float) -> Any:
    limits = Config(read_timeout=read_seconds, s3={"addressing_style": "path"})
    client: Any = boto3.client(
        "s3",
        region_name="eu-central-1",
        endpoint_url=f"http://{LOOPBACK}:{port}",
        aws_access_key_id="sample",
        aws_secret_access_key="sample",
        config=S3_CONFIG.merge(limits),
    )
    return client


def _completing_fault(port: int, read_seconds: float = _LONG_SECONDS) -> ProviderFault:
    with closing(_store(port, read_seconds)) as client, pytest.raises(ProviderFault) as caught:
        S3ArtifactStore(client, "bucket").complete("artifacts/eff_1", "upload-1", [], "c", 1)
    return caught.value


def _fault_of(behave: Behaviour, read_seconds: float = _LONG_SECONDS) -> ProviderFault:
    with RawServer(behave) as server:
        return _completing_fault(server.port, read_seconds)


def _meaning(fault: ProviderFault) -> ErrorClass:
    return CONTRACT.classify(fault.kind, fault.status, fault.code)


def test_the_completing_request_is_made_on_the_condition_that_there_is_no_object() -> None:
    with RawServer(closes) as server:
        _completing_fault(server.port)

    assert b"if-none-match: *" in bytes(server.requests).lower()


def test_a_request_that_never_left_is_not_done() -> None:
    with refusing_port() as port:
        fault = _completing_fault(port)

    assert _meaning(fault) is ErrorClass.NOT_REACHED


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
    behave: Behaviour, read_seconds: float
) -> None:
    fault = _fault_of(behave, read_seconds)

    assert fault.kind is FaultKind.NO_ANSWER
    assert _meaning(fault) is ErrorClass.UNKNOWN


@pytest.mark.parametrize(
    ("status", "code", "meaning"),
    [
        (412, "PreconditionFailed", ErrorClass.COMPARE),
        (409, "ConditionalRequestConflict", ErrorClass.SAME_KEY_AGAIN),
        (400, "BadDigest", ErrorClass.REFUSED),
        (400, "EntityTooSmall", ErrorClass.REFUSED),
        (403, "AccessDenied", ErrorClass.REFUSED),
        (404, "NoSuchBucket", ErrorClass.REFUSED),
        (404, "NoSuchUpload", ErrorClass.UNKNOWN),
        (400, "ExpiredToken", ErrorClass.NOT_REACHED),
        (400, "RequestTimeout", ErrorClass.NOT_REACHED),
        (403, "RequestTimeTooSkewed", ErrorClass.NOT_REACHED),
        (409, "OperationAborted", ErrorClass.UNKNOWN),
        (500, "InternalError", ErrorClass.UNKNOWN),
        (503, "SlowDown", ErrorClass.UNKNOWN),
    ],
)
def test_s3s_own_words_are_taken_by_name(status: int, code: str, meaning: ErrorClass) -> None:
    fault = _fault_of(answers(status, _error(code)))

    assert (fault.status, fault.code) == (status, code)
    assert _meaning(fault) is meaning
    assert "@" not in str(fault)


@pytest.mark.parametrize("body", [_error("InternalError"), b"", _PAGE, b"<Complete"])
def test_an_error_within_an_answer_that_began_well_is_unknown(body: bytes) -> None:
    """S3 says 200 before it is done, and may have to say otherwise in the body."""
    fault = _fault_of(answers(200, body))

    assert _meaning(fault) is ErrorClass.UNKNOWN
    assert "@" not in str(fault)


@pytest.mark.parametrize("status", [400, 403, 404, 412, 429, 502])
def test_a_page_of_something_in_between_is_no_word_of_s3(status: int) -> None:
    fault = _fault_of(answers(status, _PAGE))

    assert _meaning(fault) is ErrorClass.UNKNOWN
