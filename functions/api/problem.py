"""Errors as ``application/problem+json`` (RFC 9457): what happened, what is safe, what to do."""

import json
from http import HTTPStatus

from ledger.errors import RequestRefused
from runtime.problem import Response as Response
from runtime.problem import problem_response

# Every kind of refusal that the domain or the door knows. One that is missing here is a bug.
STATUS_OF = {
    "unknown-workflow": HTTPStatus.UNPROCESSABLE_ENTITY,
    "superseded-version": HTTPStatus.UNPROCESSABLE_ENTITY,
    "invalid-payload": HTTPStatus.UNPROCESSABLE_ENTITY,
    "invalid-request": HTTPStatus.UNPROCESSABLE_ENTITY,
    "not-allowed": HTTPStatus.UNPROCESSABLE_ENTITY,
    "malformed-body": HTTPStatus.BAD_REQUEST,
    "idempotency-key-missing": HTTPStatus.BAD_REQUEST,
    "idempotency-key-reused": HTTPStatus.CONFLICT,
    "not-permitted": HTTPStatus.FORBIDDEN,
    "run-not-found": HTTPStatus.NOT_FOUND,
    "approval-not-found": HTTPStatus.NOT_FOUND,
    "digest-mismatch": HTTPStatus.CONFLICT,
    "already-decided": HTTPStatus.CONFLICT,
    "approval-expired": HTTPStatus.CONFLICT,
    "approval-replaced": HTTPStatus.CONFLICT,
    "not-awaiting-approval": HTTPStatus.CONFLICT,
    "reason-missing": HTTPStatus.UNPROCESSABLE_ENTITY,
    "action-not-allowed": HTTPStatus.CONFLICT,
    "view-changed": HTTPStatus.CONFLICT,
    "artifact-not-found": HTTPStatus.NOT_FOUND,
    "artifact-not-ready": HTTPStatus.CONFLICT,
    "artifact-expired": HTTPStatus.GONE,
}
RETRY_AFTER_SECONDS = 2


def respond(status: HTTPStatus, body: dict[str, object]) -> Response:
    """Return an HTTP API response; nothing of it may be cached."""
    return {
        "statusCode": int(status),
        "headers": {"content-type": "application/json", "cache-control": "no-store"},
        # Text as it is: escapes would make six bytes or twelve of one character.
        "body": json.dumps(body, ensure_ascii=False),
    }


def problem_of(refused: RequestRefused) -> Response:
    """Return the problem that a refusal is to the caller."""
    return problem_response(STATUS_OF[refused.problem], refused.problem, refused.detail)


def problem_of_retry() -> Response:
    """Return 503: nothing was lost, and the same request may be sent again."""
    return problem_response(
        HTTPStatus.SERVICE_UNAVAILABLE,
        "try-again",
        "A system that has to be asked gave no answer. Nothing was lost; send the same request "
        "again, with the same Idempotency-Key.",
        {"retry-after": str(RETRY_AFTER_SECONDS)},
    )


def problem_of_fault() -> Response:
    """Return 500 without a word about its cause."""
    return problem_response(
        HTTPStatus.INTERNAL_SERVER_ERROR,
        "internal-error",
        "Something failed here. Send the same request again, with the same Idempotency-Key: what "
        "was begun is not begun twice.",
    )
