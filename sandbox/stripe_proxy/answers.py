"""Answers as Stripe words them."""

import json
from dataclasses import dataclass
from typing import Any

JsonObject = dict[str, Any]


@dataclass(frozen=True)
class Answer:
    """One HTTP answer; `body` is its exact JSON."""

    status: int
    body: bytes

    @property
    def ok(self) -> bool:
        return self.status == 200

    def json(self) -> JsonObject:
        parsed: JsonObject = json.loads(self.body)
        return parsed


def answer(status: int, content: JsonObject) -> Answer:
    return Answer(status, json.dumps(content, indent=2).encode())


def error(
    status: int, kind: str, message: str, code: str | None = None, param: str | None = None
) -> Answer:
    """A Stripe error; `kind` is its `type`."""
    fields = {"type": kind, "message": message, "code": code, "param": param}
    return answer(status, {"error": {k: v for k, v in fields.items() if v is not None}})


def invalid_request(message: str, code: str | None = None, param: str | None = None) -> Answer:
    return error(400, "invalid_request_error", message, code, param)


SERVER_ERROR = error(500, "api_error", "An unknown error occurred.")
