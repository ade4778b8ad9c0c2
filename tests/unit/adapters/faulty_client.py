"""A client whose calls go wrong by script: before they reach AWS, or after."""

from collections.abc import Callable
from typing import Any

from botocore.exceptions import ClientError, ReadTimeoutError

type Send = Callable[[], Any]
type Fate = Callable[[Send], Any]


def passes(send: Send) -> Any:
    """Let the call through."""
    return send()


def fails(error: Exception) -> Fate:
    """Raise ``error`` and send nothing."""

    def fate(_: Send) -> Any:
        raise error

    return fate


def lands_then(error: Exception) -> Fate:
    """Let the call have its effect, and lose the answer."""

    def fate(send: Send) -> Any:
        send()
        raise error

    return fate


class FaultyClient:
    """Passes calls on to ``client``. ``script`` gives an operation's calls their fates in turn."""

    def __init__(self, client: Any, **script: list[Fate]) -> None:
        self._client = client
        self._script = script
        self.calls: list[tuple[str, dict[str, Any]]] = []

    def __getattr__(self, operation: str) -> Any:
        def call(**request: Any) -> Any:
            self.calls.append((operation, request))
            fates = self._script.get(operation, [])
            fate = fates.pop(0) if fates else passes
            return fate(lambda: getattr(self._client, operation)(**request))

        return call

    def requests(self, operation: str) -> list[dict[str, Any]]:
        """Return what was sent to ``operation``, in order."""
        return [request for name, request in self.calls if name == operation]


def read_timeout() -> Exception:
    """Return what botocore raises when the answer does not come."""
    return ReadTimeoutError(endpoint_url="https://dynamodb.invalid")


def service_error(code: str, status: int = 400) -> ClientError:
    """Return an error that the service gave as its answer."""
    return ClientError(
        {
            "Error": {"Code": code, "Message": "in the service's own words"},
            "ResponseMetadata": {
                "HTTPStatusCode": status,
                "RequestId": "",
                "HostId": "",
                "HTTPHeaders": {},
                "RetryAttempts": 0,
            },
        },
        "TransactWriteItems",
    )


def cancelled(*codes: str) -> ClientError:
    """Return a cancelled transaction with a reason for each action."""
    error = service_error("TransactionCanceledException")
    error.response["CancellationReasons"] = [{"Code": code} for code in codes]
    return error
