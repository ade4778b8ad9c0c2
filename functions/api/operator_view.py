"""``GET /runs/{run_id}/view``: the facts of a run, and what an operator may do about it."""

from http import HTTPStatus

from api.door import Request, door
from api.problem import Response, respond
from ledger.actions import offers
from ledger.ports import Ports
from ledger.projection import project
from ledger.run import RunLedger
from ledger.update import load
from workflows.registry import definition_of


def operator_view(ports: Ports, request: Request) -> Response:
    """Return 200 with facts and offers; times are milliseconds since 1970, as in the ledger.

    Raises RequestRefused unless an operator of the run's tenant asks.
    """
    ledger = load(ports, request.path.get("run_id", ""))
    request.caller.check_may_operate(ledger.run)
    return respond(HTTPStatus.OK, view_body(ports, ledger))


def view_body(ports: Ports, ledger: RunLedger) -> dict[str, object]:
    """Return what an operator sees: ``facts`` at one version, and every action with its offer."""
    definition = definition_of(ledger.run.workflow)
    now_ms = ports.clock.now_ms()
    offered = offers(definition, ledger, lambda name: ports.providers[name].contract, now_ms)
    return {
        "facts": project(definition, ledger, now_ms).model_dump(mode="json"),
        "offers": [offer.model_dump(mode="json") for offer in offered],
    }


handler = door(operator_view)
