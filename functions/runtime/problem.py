"""An error as ``application/problem+json`` (RFC 9457), as HTTP API takes a response."""

import json
from collections.abc import Mapping
from http import HTTPStatus

type Response = dict[str, object]


def problem_response(
    status: HTTPStatus, kind: str, detail: str, headers: Mapping[str, str] | None = None
) -> Response:
    """Return the response. ``kind`` is a stable slug, ``detail`` what to do now; neither is input.

    Nothing of it may be cached.
    """
    return {
        "statusCode": int(status),
        "headers": {
            "content-type": "application/problem+json",
            "cache-control": "no-store",
            **(headers or {}),
        },
        "body": json.dumps(
            {
                "type": f"urn:recovery-ledger:problem:{kind}",
                "title": kind.replace("-", " ").capitalize(),
                "status": int(status),
                "detail": detail,
            }
        ),
    }
