"""``GET /runs/{run_id}/customer-words``: who the customer is and what they wrote, for an operator.

Apart from the view: the facts hold nothing that anybody could write at will, and personal fields
are read only when somebody asks for them, which leaves its own line in the log.
"""

from http import HTTPStatus

from api.door import Request, door
from api.problem import Response, respond
from ledger.admission import CUSTOMER_TEXT
from ledger.ports import Ports
from ledger.update import load


def customer_words(ports: Ports, request: Request) -> Response:
    """Return 200 with name and text, both untrusted; empty where there are none, or erased.

    Raises RequestRefused unless an operator of the run's tenant asks.
    """
    run = load(ports, request.path.get("run_id", "")).run
    request.caller.check_may_operate(run)
    personal = ports.store.personal(run.run_id)
    fields = personal.fields if personal else {}
    untrusted: dict[str, object] = {
        "untrusted_customer_name": fields.get("name", ""),
        "untrusted_customer_text": fields.get(CUSTOMER_TEXT, ""),
    }
    return respond(HTTPStatus.OK, untrusted)


handler = door(customer_words)
