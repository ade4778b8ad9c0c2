"""``GET /runs/{run_id}``: what the customer may be told, from the ledger."""

from http import HTTPStatus

from api.door import Request, door
from api.problem import Response, respond
from api.views import status_body
from ledger.ports import Ports
from ledger.update import load
from workflows.registry import definition_for


def get_run(ports: Ports, request: Request) -> Response:
    """Return 200 with the run's status. Raises RequestRefused when it is not the caller's."""
    ledger = load(ports, request.path.get("run_id", ""))
    request.caller.check_may_read(ledger.run)
    return respond(HTTPStatus.OK, status_body(definition_for(ledger), ledger, ports.clock.now_ms()))


handler = door(get_run)
