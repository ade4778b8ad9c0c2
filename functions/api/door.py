"""Turn an HTTP API event into a typed request, and every outcome into a response."""

import base64
import binascii
import json
from collections.abc import Callable, Mapping
from typing import cast

from aws_lambda_powertools.utilities.typing import LambdaContext

from api.caller import Caller, caller_of
from api.problem import Response, problem_of, problem_of_fault, problem_of_retry
from ledger.errors import RequestRefused, RetryLater
from ledger.ports import Ports
from ledger.record import Record
from runtime.log import log, log_failure
from runtime.wiring import ports

# A request is a handful of ids. API Gateway would let 10 MB through.
MAX_BODY_BYTES = 16 * 1024


class Request(Record):
    """One call, after API Gateway has verified its token."""

    caller: Caller
    headers: dict[str, str]
    path: dict[str, str]
    body: str

    def json_body(self) -> dict[str, object]:
        """Return the body as an object. Raises RequestRefused when it is none.

        Numbers with a fraction or exponent stay visible as floats, so that a later strict check
        refuses them instead of rounding them.
        """
        if len(self.body.encode()) > MAX_BODY_BYTES:
            raise RequestRefused("malformed-body", f"The body is over {MAX_BODY_BYTES} bytes.")
        try:
            parsed = json.loads(self.body, object_pairs_hook=_no_duplicates)
        except (ValueError, RecursionError) as error:
            raise RequestRefused("malformed-body", "The body is not a JSON object.") from error
        if not isinstance(parsed, dict):
            raise RequestRefused("malformed-body", "The body is not a JSON object.")
        return cast("dict[str, object]", parsed)


type Route = Callable[[Ports, Request], Response]


def door(route: Route) -> Callable[[Mapping[str, object], LambdaContext], Response]:
    """Return the Lambda handler of a route. It always answers; it never raises."""

    def handler(event: Mapping[str, object], _context: LambdaContext) -> Response:
        try:
            return route(ports(), _request_of(event))
        except RequestRefused as refused:
            # Refused attempts leave a record too: what was refused, and why.
            log("refused", problem=refused.problem, reason=refused.detail)
            return problem_of(refused)
        except RetryLater as error:
            log_failure("asked to repeat", error)
            return problem_of_retry()
        except Exception as error:  # noqa: BLE001  the caller gets a problem, the log the place
            log_failure("the request failed", error)
            return problem_of_fault()

    return handler


def _request_of(event: Mapping[str, object]) -> Request:
    context = cast("dict[str, dict[str, dict[str, object]]]", event["requestContext"])
    jwt = cast("dict[str, dict[str, object]]", context.get("authorizer", {}).get("jwt", {}))
    headers = cast("dict[str, str]", event.get("headers") or {})
    return Request(
        caller=caller_of(jwt.get("claims", {})),
        headers={name.lower(): value for name, value in headers.items()},
        path=cast("dict[str, str]", event.get("pathParameters") or {}),
        body=_body_of(event),
    )


def _body_of(event: Mapping[str, object]) -> str:
    body = cast("str", event.get("body") or "")
    if not event.get("isBase64Encoded"):
        return body
    try:
        return base64.b64decode(body, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError) as error:
        raise RequestRefused("malformed-body", "The body is not text.") from error


def _no_duplicates(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("a member appears twice")
    return members
