"""Turn an HTTP API event into a typed request, and every outcome into a response."""

import base64
import binascii
import json
import re
from collections.abc import Callable, Mapping
from typing import cast

from aws_lambda_powertools.utilities.typing import LambdaContext
from pydantic import Field

from api.caller import Caller, caller_of, subject_of
from api.problem import Response, problem_of, problem_of_fault, problem_of_retry
from ledger.errors import RequestRefused, RetryLater
from ledger.idempotency import ID_CHARACTERS
from ledger.ports import Ports
from ledger.record import Record
from runtime.log import log, log_failure
from runtime.metrics import flushed
from runtime.wiring import ports, ports_for_a_person
from workflows.migrations import with_versions

# A handful of ids and the longest customer's text, every character of it escaped (12 bytes). API
# Gateway would let 10 MB through.
MAX_BODY_BYTES = 64 * 1024
# Ids of ours are opaque; a path may hold anything, and what is in it ends in the log.
OUR_ID = re.compile(rf"[a-z]{{3}}_[a-z2-7]{{{ID_CHARACTERS}}}")
# Written in the place of what an attempt does not tell; no id of ours, and none of the user pool's.
UNKNOWN = "unknown"


class Request(Record):
    """One call, after API Gateway has verified its token."""

    caller: Caller
    headers: dict[str, str]
    path: dict[str, str]
    body: str
    query: dict[str, str] = Field(default_factory=dict)

    def json_body(self) -> dict[str, object]:
        """Return the body as an object. Raises RequestRefused when it is none.

        Numbers with a fraction or exponent stay visible as floats, so that a later strict check
        refuses them instead of rounding them.
        """
        if len(self.body.encode()) > MAX_BODY_BYTES:
            raise RequestRefused("malformed-body", f"The body is over {MAX_BODY_BYTES} bytes.")
        try:
            parsed = json.loads(self.body, object_pairs_hook=_no_duplicates)
            # Half of a surrogate pair can be escaped in JSON, and is no text that could be kept.
            json.dumps(parsed, ensure_ascii=False).encode()
        except (ValueError, RecursionError) as error:
            raise RequestRefused("malformed-body", "The body is not a JSON object.") from error
        if not isinstance(parsed, dict):
            raise RequestRefused("malformed-body", "The body is not a JSON object.")
        return cast("dict[str, object]", parsed)


type Route = Callable[[Ports, Request], Response]


def door(
    route: Route,
    action_of: Callable[[Request], str] | None = None,
    *,
    past_breakers: bool = False,
) -> Callable[[Mapping[str, object], LambdaContext], Response]:
    """Return the Lambda handler of a route. It always answers; it never raises.

    Every attempt leaves one line of the same fields, whatever becomes of it. ``action_of`` names
    what was attempted where the route's own name does not say it all. ``past_breakers`` is for what
    a person does by hand to one run, also while a provider is left alone.
    """
    name = getattr(route, "__name__", "route")

    @flushed
    def handler(event: Mapping[str, object], _context: LambdaContext) -> Response:
        attempt = {"actor_id": UNKNOWN, "action": name, "target": UNKNOWN}
        try:
            # Before anything is asked of the request: one that is refused leaves its line as well.
            attempt["target"] = _target(_path_of(event))
            attempt["actor_id"] = subject_of(_claims_of(event)) or UNKNOWN
            request = _request_of(event)
            attempt["action"] = action_of(request) if action_of else name
            wired = ports_for_a_person() if past_breakers else ports()
            response = route(with_versions(wired), request)
        except RequestRefused as refused:
            log("attempt", **attempt, outcome=refused.problem, reason=refused.detail)
            return problem_of(refused)
        except RetryLater as error:
            log_failure("attempt", error, **attempt, outcome="try-again")
            return problem_of_retry()
        except Exception as error:  # noqa: BLE001  the caller gets a problem, the log the place
            log_failure("attempt", error, **attempt, outcome="internal-error")
            return problem_of_fault()
        log("attempt", **attempt, outcome="done", reason="")
        return response

    return handler


def _target(path: Mapping[str, str]) -> str:
    """Return the ids in the path, outermost first; empty for a route that has none.

    What cannot be an id of ours is not repeated.
    """
    return "/".join(found if OUR_ID.fullmatch(found) else UNKNOWN for found in path.values())


def _path_of(event: Mapping[str, object]) -> dict[str, str]:
    return cast("dict[str, str]", event.get("pathParameters") or {})


def _claims_of(event: Mapping[str, object]) -> object:
    context = cast("dict[str, dict[str, dict[str, object]]]", event["requestContext"])
    jwt = cast("dict[str, dict[str, object]]", context.get("authorizer", {}).get("jwt", {}))
    return jwt.get("claims", {})


def _request_of(event: Mapping[str, object]) -> Request:
    headers = cast("dict[str, str]", event.get("headers") or {})
    return Request(
        caller=caller_of(_claims_of(event)),
        headers={name.lower(): value for name, value in headers.items()},
        path=_path_of(event),
        query=cast("dict[str, str]", event.get("queryStringParameters") or {}),
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
