"""``POST /runs``: open a run for a caller's Idempotency-Key and start its execution."""

from http import HTTPStatus

from pydantic import Field

from api.caller import Caller
from api.door import Request, door
from api.problem import Response, respond
from api.typed_body import typed
from api.views import status_body
from ledger.admission import Opening, open_run
from ledger.errors import RequestRefused, RetryLater
from ledger.execution import start_execution
from ledger.idempotency import run_id_for
from ledger.ports import Ports
from ledger.record import Record, Scalar
from ledger.run import RunLedger
from ledger.workflow import WorkflowDefinition
from runtime.log import log, log_failure
from workflows.registry import definition_for, definition_to_open

MAX_KEY_CHARACTERS = 255
# Some 600 words: what a customer says of their wish, not their whole correspondence.
MAX_TEXT_CHARACTERS = 4_000


class RunBody(Record):
    """What opens a run."""

    workflow: str
    """The workflow's name, or one exact version of it."""

    request: dict[str, object]
    customer_text: str = Field(default="", max_length=MAX_TEXT_CHARACTERS)
    """The customer's own words. Kept with what is erasable; they decide nothing."""


def start_run(ports: Ports, request: Request) -> Response:
    """Return 202 with the run, the same one for every repeat of the key.

    Raises RequestRefused for bad input and ProviderUnavailable when a target cannot be checked;
    in both cases nothing was started.
    """
    key = _idempotency_key(request)
    body = typed(RunBody, request.json_body())
    definition = _definition(ports, request.caller, key, body.workflow)
    wanted = _wanted(definition, body)
    request.caller.check_may_open(wanted["customer_id"])
    ledger = open_run(
        ports,
        definition,
        Opening(
            tenant_id=request.caller.tenant_id,
            actor=request.caller.actor,
            caller_key=key,
            request=wanted,
            workflow=body.workflow,
            customer_text=body.customer_text,
        ),
    )
    _start(ports, ledger, request)
    body_of_run = status_body(definition_for(ledger), ledger, ports.clock.now_ms())
    return respond(HTTPStatus.ACCEPTED, body_of_run)


def _definition(ports: Ports, caller: Caller, key: str, workflow: str) -> WorkflowDefinition:
    """Return the version that a new run gets, or the one of the run that the key opened already.

    A repeat that comes after a newer version did is still the same request.
    """
    existing = ports.store.load(run_id_for(caller.tenant_id, caller.actor.actor_id, key))
    if existing is not None and _name(existing.run.workflow) == _name(workflow):
        return definition_for(existing)
    return definition_to_open(workflow)


def _name(workflow: str) -> str:
    return workflow.partition("@")[0]


def _start(ports: Ports, ledger: RunLedger, request: Request) -> None:
    run = ledger.run
    if run.execution_started:
        return
    try:
        outcome = start_execution(ports, run.run_id, request.caller.actor)
    except RetryLater as error:
        # The run is written down and due within the start deadline; the sweeper starts it.
        log_failure("the execution is left to the sweeper", error, run_id=run.run_id)
        return
    log("run requested", run_id=run.run_id, epoch=run.epoch, outcome=outcome or "nothing to do")


def _idempotency_key(request: Request) -> str:
    key = request.headers.get("idempotency-key", "")
    if not 0 < len(key) <= MAX_KEY_CHARACTERS:
        raise RequestRefused(
            "idempotency-key-missing",
            f"Send an Idempotency-Key header of 1 to {MAX_KEY_CHARACTERS} characters, the same "
            "one whenever you repeat this request.",
        )
    return key


def _wanted(definition: WorkflowDefinition, body: RunBody) -> dict[str, Scalar]:
    parsed: Record = typed(definition.request_type, body.request)
    wanted: dict[str, Scalar] = parsed.model_dump()
    return wanted


handler = door(start_run)
