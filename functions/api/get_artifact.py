"""``GET /runs/{run_id}/artifact``: where the run's customer can fetch what was made for them."""

from datetime import UTC, datetime
from http import HTTPStatus

from api.door import Request, door
from api.problem import Response, respond
from ledger.artifact import hand_out
from ledger.ports import Ports
from ledger.update import load
from runtime.wiring import artifact_links
from workflows.registry import definition_for


def get_artifact(ports: Ports, request: Request) -> Response:
    """Return 200 with an address that lives for a minute; times are RFC 3339, UTC.

    Raises RequestRefused when it is not the caller's, or not to be had now, and
    ProviderUnavailable when that could not be checked.
    """
    ledger = load(ports, request.path.get("run_id", ""))
    request.caller.check_may_fetch(ledger.run)
    given = hand_out(ports, artifact_links(), definition_for(ledger), ledger)
    body: dict[str, object] = {
        "artifact_id": given.artifact_id,
        "url": given.url,
        "url_ends_at": _moment(given.url_ends_at_ms),
        "valid_until": _moment(given.valid_until_ms),
    }
    return respond(HTTPStatus.OK, body)


def _moment(at_ms: int) -> str:
    return datetime.fromtimestamp(at_ms / 1000, UTC).isoformat(timespec="seconds")


handler = door(get_artifact)
