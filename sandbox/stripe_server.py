"""The Stripe sandbox: localstripe, and the proxy in front of it."""

import sys
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from sandbox.ports import LOOPBACK
from sandbox.processes import Server, start_server
from sandbox.surroundings import child_environment

API_KEY = "sk_test_sandbox"
SIGNING_SECRET = "whsec_sandbox"
_TIMEOUT_SECONDS = 30.0
_PROBE_TIMEOUT_SECONDS = 2.0
_IMPORT_ROOT = Path(__file__).parents[1]


@dataclass(frozen=True)
class StripeSandbox:
    """Two running servers; clients use `url`, out-of-band acts use `behind_url`."""

    proxy: Server
    localstripe: Server

    @property
    def url(self) -> str:
        return f"http://{LOOPBACK}:{self.proxy.port}"

    @property
    def behind_url(self) -> str:
        """localstripe itself: what somebody does at the dashboard, unseen by log and faults."""
        return f"http://{LOOPBACK}:{self.localstripe.port}"

    def arm(self, fault: Mapping[str, Any]) -> None:
        """Adds one fault to the script, as `POST /_sandbox/faults` takes it."""
        self._call("POST", "faults", fault)

    def fired(self) -> list[dict[str, Any]]:
        """The faults that met a request, with the process killed, if any."""
        fired: list[dict[str, Any]] = self._call("GET", "faults")["fired"]
        return fired

    def requests(self, method: str, path: str) -> list[dict[str, Any]]:
        """The requests seen at this endpoint, oldest first."""
        query = f"log?method={method}&path={path}"
        seen: list[dict[str, Any]] = self._call("GET", query)["requests"]
        return seen

    def advance_clock(self, seconds: float) -> None:
        self._call("POST", "clock", {"advance_seconds": seconds})

    def show(self, object_id: str, fields: Mapping[str, Any]) -> None:
        """Shows the fields on the object from now on, a refund's later `status` for instance."""
        self._call("POST", f"objects/{object_id}", fields)

    def change_at_dashboard(self, path: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """What a person at the dashboard writes: unseen by log and faults, and told by a notice."""
        return self._call("POST", f"dashboard/{path}", params)

    def send_notices_to(self, url: str, host_header: str) -> None:
        """Sends signed notices of every change there, from now on."""
        endpoint = {"url": url, "host": host_header, "secret": SIGNING_SECRET}
        self._call("POST", "endpoint", endpoint)

    def arm_notice(self, script: Mapping[str, Any]) -> None:
        """Adds one fault of notices to the script, as `POST /_sandbox/notices` takes it."""
        self._call("POST", "notices", script)

    def notices(self) -> list[dict[str, Any]]:
        """The notices sent or dropped, oldest first, with the statuses they were answered with."""
        sent: list[dict[str, Any]] = self._call("GET", "notices")["sent"]
        return sent

    def release_held(self) -> None:
        """Lets every request that a fault holds go on."""
        self._call("POST", "release")

    def reset(self) -> None:
        """Forgets scripts, log, keys and clock; customers, charges and refunds stay."""
        self._call("POST", "reset")

    def stop(self) -> None:
        self.proxy.stop()
        self.localstripe.stop()

    def _call(
        self, method: str, control: str, body: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        answer = httpx.request(
            method,
            f"{self.url}/_sandbox/{control}",
            json=body,
            timeout=_TIMEOUT_SECONDS,
            trust_env=False,
        )
        answer.raise_for_status()
        content: dict[str, Any] = answer.json()
        return content


def start_stripe(state_dir: Path, killable_below: int | None = None) -> StripeSandbox:
    """A ready, empty Stripe. Faults may kill only processes below `killable_below`."""
    with ExitStack() as undo:
        localstripe = _start(
            "localstripe", state_dir, "/_config/health", ["-m", "sandbox.localstripe_server"]
        )
        undo.callback(localstripe.stop)
        arguments = ["-m", "sandbox.stripe_proxy", "--upstream-port", str(localstripe.port)]
        if killable_below is not None:
            arguments += ["--killable-below", str(killable_below)]
        proxy = _start("stripe-proxy", state_dir, "/_sandbox/health", arguments)
        undo.pop_all()
    return StripeSandbox(proxy, localstripe)


def _start(name: str, state_dir: Path, health: str, arguments: list[str]) -> Server:
    return start_server(
        name=name,
        command=lambda port: [sys.executable, *arguments, "--port", str(port)],
        environment=lambda _port: {
            **child_environment(state_dir),
            "PYTHONPATH": str(_IMPORT_ROOT),
        },
        ready=lambda port: _answers(port, health),
        log_path=state_dir / f"{name}.log",
    )


def _answers(port: int, health: str) -> bool:
    """Any HTTP answer will do: localstripe has no health page."""
    try:
        httpx.get(
            f"http://{LOOPBACK}:{port}{health}", timeout=_PROBE_TIMEOUT_SECONDS, trust_env=False
        )
    except httpx.HTTPError:
        return False
    return True
