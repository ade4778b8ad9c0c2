"""``POST /runs/{run_id}/approvals/{approval_id}/decision``: a customer's yes or no."""

from http import HTTPStatus

from api.door import Request, door
from api.problem import Response, respond
from api.views import status_body
from ledger.approve import Decision, decide_approval
from ledger.errors import RequestRefused
from ledger.ports import Ports
from ledger.update import load
from runtime.log import log
from workflows.registry import definition_for


def decide(ports: Ports, request: Request) -> Response:
    """Return 200 with the run after the decision was recorded.

    Raises RequestRefused when the caller may not decide, or when what was shown is not what is on
    record. The decision is written down before anything acts on it.
    """
    run_id = request.path.get("run_id", "")
    approval_id = request.path.get("approval_id", "")
    run = load(ports, run_id).run
    request.caller.check_may_decide(run)
    decision, digest = _decision_of(request.json_body())
    ledger = decide_approval(ports, run_id, approval_id, digest, decision, request.caller.actor)
    log("decided", run_id=run_id, approval_id=approval_id, outcome=decision)
    return respond(HTTPStatus.OK, status_body(definition_for(ledger), ledger, ports.clock.now_ms()))


def _decision_of(body: dict[str, object]) -> tuple[Decision, str]:
    decision, digest = body.get("decision"), body.get("digest")
    if set(body) != {"decision", "digest"} or not (
        isinstance(digest, str) and isinstance(decision, str)
    ):
        raise RequestRefused(
            "invalid-request", 'The body needs exactly "decision" and "digest", as shown.'
        )
    try:
        return Decision(decision), digest
    except ValueError:
        raise RequestRefused("invalid-request", 'The decision is "approve" or "decline".') from None


handler = door(decide)
