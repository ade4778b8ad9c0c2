"""``GET /runs/{run_id}/packet``: what an agent's model is told when it resumes."""

from http import HTTPStatus

from api.door import Request, door
from api.problem import Response, respond
from ledger.admission import CUSTOMER_TEXT
from ledger.packet import resume_packet as packet_of
from ledger.ports import Ports
from ledger.projection import project
from ledger.update import load
from workflows.registry import definition_for


def resume_packet(ports: Ports, request: Request) -> Response:
    """Return 200 with the packet. Raises RequestRefused unless an agent of the tenant asks."""
    ledger = load(ports, request.path.get("run_id", ""))
    request.caller.check_may_brief(ledger.run)
    facts = project(definition_for(ledger), ledger, ports.clock.now_ms())
    personal = ports.store.personal(ledger.run.run_id)
    customer_text = personal.fields.get(CUSTOMER_TEXT, "") if personal else ""
    return respond(HTTPStatus.OK, packet_of(facts, customer_text).model_dump(mode="json"))


handler = door(resume_packet)
