"""A Stripe at HTTP level, plugged in as the adapter's transport."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from ledger.contract import FaultKind
from ledger.ports import Clock
from ledger.provider import ProviderFault
from providers.stripe_transport import Answer
from tests.fakes.stripe_endpoints import Refusal, StripeEndpoints
from tests.fakes.stripe_world import StripeWorld

KEY_LIFETIME_SECONDS = 24 * 3600


class Fault(StrEnum):
    """What may happen to one request."""

    DROP_BEFORE_COMMIT = "drop_before_commit"
    COMMIT_THEN_DROP = "commit_then_drop"
    COMMIT_THEN_500 = "commit_then_500"  # the 500 is saved under the key and replayed
    NEVER_SENT = "never_sent"
    LOCK_TIMEOUT = "lock_timeout"  # 429, no effect, not saved under the key
    UNAVAILABLE = "unavailable"  # 503, no effect, not saved under the key
    UNAUTHORIZED = "unauthorized"  # 401, no effect


@dataclass(frozen=True)
class Request:
    """One request as it arrived."""

    method: str
    path: str
    query: str
    key: str | None
    body: bytes
    at_ms: int


@dataclass(frozen=True)
class _SavedKey:
    """The first request under a key, and its answer."""

    endpoint: str
    body: bytes
    answer: Answer
    first_used_ms: int


@dataclass(frozen=True)
class _Script:
    fault: Fault
    method: str
    path_prefix: str


class FakeStripe:
    """Stripe's promises about keys, and its faults on demand, over a ``StripeWorld``."""

    def __init__(self, clock: Clock) -> None:
        """Start empty; keys age by ``clock``."""
        self.world = StripeWorld(clock)
        self.requests: list[Request] = []
        self.keys_in_flight: set[str] = set()
        self._clock = clock
        self._endpoints = StripeEndpoints(self.world)
        self._keys: dict[str, _SavedKey] = {}
        self._scripts: list[_Script] = []

    def fail_next(self, fault: Fault, method: str = "POST", path_prefix: str = "/v1/") -> None:
        """Let the next request at this endpoint meet ``fault``; several form a queue."""
        self._scripts.append(_Script(fault, method, path_prefix))

    def posts(self, path_prefix: str = "/v1/") -> list[Request]:
        """Return the writes that arrived, oldest first."""
        return [
            seen
            for seen in self.requests
            if seen.method == "POST" and seen.path.startswith(path_prefix)
        ]

    def __call__(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> Answer:
        """Return Stripe's answer. Raises ProviderFault where the connection fails."""
        path, _, query = path.partition("?")
        key = headers.get("Idempotency-Key")
        fault = self._next_fault(method, path)
        if fault is Fault.NEVER_SENT:
            raise ProviderFault(FaultKind.NEVER_SENT)
        self.requests.append(Request(method, path, query, key, body, self._clock.now_ms()))
        if fault is Fault.DROP_BEFORE_COMMIT:
            raise ProviderFault(FaultKind.NO_ANSWER)
        if fault is Fault.LOCK_TIMEOUT:
            return _refused(Refusal(429, code="lock_timeout"))
        if fault is Fault.UNAVAILABLE:
            return _refused(Refusal(503, kind="api_error"))
        if fault is Fault.UNAUTHORIZED:
            return _refused(Refusal(401))
        answer = self._answer_under_key(method, path, query, key, body, fault)
        if fault is Fault.COMMIT_THEN_DROP:
            raise ProviderFault(FaultKind.NO_ANSWER)
        return answer

    def _next_fault(self, method: str, path: str) -> Fault | None:
        for script in self._scripts:
            if script.method == method and path.startswith(script.path_prefix):
                self._scripts.remove(script)
                return script.fault
        return None

    def _answer_under_key(
        self,
        method: str,
        path: str,
        query: str,
        key: str | None,
        body: bytes,
        fault: Fault | None,
    ) -> Answer:
        if key is None:
            return self._carry_out(method, path, query, body, fault)
        if key in self.keys_in_flight:
            return _refused(Refusal(409, "idempotency_error", "idempotency_key_in_use"))
        self._prune_keys()
        saved = self._keys.get(key)
        if saved is None:
            answer = self._carry_out(method, path, query, body, fault)
            self._keys[key] = _SavedKey(path, body, answer, self._clock.now_ms())
            return answer
        if (saved.endpoint, saved.body) != (path, body):
            return _refused(Refusal(400, "idempotency_error"))
        return saved.answer

    def _carry_out(
        self, method: str, path: str, query: str, body: bytes, fault: Fault | None
    ) -> Answer:
        try:
            content = self._endpoints.answer(method, path, query, body)
        except Refusal as refusal:
            return _refused(refusal)
        if fault is Fault.COMMIT_THEN_500:
            return _refused(Refusal(500, kind="api_error"))
        return _json_answer(200, content)

    def _prune_keys(self) -> None:
        oldest_ms = self._clock.now_ms() - KEY_LIFETIME_SECONDS * 1000
        self._keys = {
            key: saved for key, saved in self._keys.items() if saved.first_used_ms > oldest_ms
        }


def _refused(refusal: Refusal) -> Answer:
    return _json_answer(refusal.status, refusal.export())


def _json_answer(status: int, content: Mapping[str, object]) -> Answer:
    return Answer(status, {"content-type": "application/json"}, json.dumps(content).encode())
