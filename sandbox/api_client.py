"""The deployed API, called as its users call it."""

from collections.abc import Mapping
from typing import Any

import httpx

# API Gateway itself gives up after 30 s.
_TIMEOUT_SECONDS = 30.0


class Api:
    """The HTTP API with the sample users' tokens."""

    def __init__(self, url: str, host_header: str, tokens: Mapping[str, str]) -> None:
        self._tokens = tokens
        self._http = httpx.Client(
            base_url=url,
            headers={"Host": host_header},
            timeout=_TIMEOUT_SECONDS,
            trust_env=False,
        )

    def call(
        self,
        user: str | None,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> httpx.Response:
        """The answer, whatever its status; `user` None sends no token."""
        signed = {} if user is None else {"Authorization": f"Bearer {self._tokens[user]}"}
        return self._http.request(method, path, json=body, headers={**signed, **(headers or {})})

    def start_run(self, key: str, body: Mapping[str, Any]) -> httpx.Response:
        """Asks, as the agent, for a run; `key` names the wish and makes asking twice harmless."""
        return self.call("agent", "POST", "/runs", body, {"Idempotency-Key": key})

    def run(self, run_id: str, user: str = "customer") -> dict[str, Any]:
        """The run as that user sees it. Raises httpx.HTTPStatusError."""
        shown: dict[str, Any] = self.call(user, "GET", f"/runs/{run_id}").raise_for_status().json()
        return shown

    def decide(self, run_id: str, approval_id: str, decision: str, digest: str) -> httpx.Response:
        """Answers, as the customer, an approval for the bytes named by `digest`."""
        path = f"/runs/{run_id}/approvals/{approval_id}/decision"
        return self.call("customer", "POST", path, {"decision": decision, "digest": digest})

    def close(self) -> None:
        self._http.close()
