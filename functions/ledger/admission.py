"""Open a run: check the request against the systems that own its targets, then write it down."""

from ledger.authorise import bound_from_request, read_authority
from ledger.canonical import digest
from ledger.draft import Draft
from ledger.errors import LedgerMoved, RequestRefused
from ledger.event import Actor, EventKind
from ledger.idempotency import run_id_for
from ledger.ports import Ports
from ledger.record import Record, Scalar
from ledger.run import Run, RunLedger
from ledger.transitions import RunState
from ledger.workflow import WorkflowDefinition

FIRST_EPOCH = 1
CUSTOMER_TEXT = "customer_text"
"""The personal field that holds what the customer wrote."""


class Opening(Record):
    """Who opens a run, for whom, under which key of their own."""

    tenant_id: str
    actor: Actor
    caller_key: str
    request: dict[str, Scalar]
    workflow: str = ""
    """What the caller asked for, in the caller's words; the version where it is empty.

    A name may mean a newer version by the time the same request is repeated.
    """

    customer_text: str = ""
    """Explains the request and is no part of it: another text asks for no other run."""


def open_run(ports: Ports, definition: WorkflowDefinition, opening: Opening) -> RunLedger:
    """Return the run of this caller's key, opened now or by an earlier identical request.

    Raises:
        RequestRefused: the key was used with another request, or the targets do not allow it.
        ProviderUnavailable: a target could not be read; nothing was started.
    """
    run_id = run_id_for(opening.tenant_id, opening.actor.actor_id, opening.caller_key)
    asked = opening.workflow or definition.version
    request_digest = digest({"workflow": asked, "request": opening.request})
    existing = ports.store.load(run_id)
    if existing is not None:
        return _same_request(existing, request_digest)
    check_targets(ports, definition, opening.request)
    draft = Draft(
        RunLedger(run=_new_run(ports, definition, opening, run_id, request_digest)),
        opening.actor,
        ports.clock.now_ms(),
        ports.ids.new_id(),
    )
    draft.note(
        EventKind.RUN_OPENED,
        "requested",
        subject=run_id,
        state=RunState.ACTIVE,
        details={"request_digest": request_digest},
    )
    if opening.customer_text:
        draft.put_personal({CUSTOMER_TEXT: opening.customer_text})
    try:
        ports.store.commit(draft.change())
    except LedgerMoved:
        faster = ports.store.load(run_id)  # the same caller's repeat
        if faster is None:
            raise
        return _same_request(faster, request_digest)
    return draft.ledger


def check_targets(
    ports: Ports, definition: WorkflowDefinition, request: dict[str, Scalar]
) -> dict[str, Scalar]:
    """Return what the owners say, by operation, when every write that needs a yes is possible.

    Raises RequestRefused with the reason when one is not, ProviderUnavailable without an answer.
    """
    snapshot: dict[str, Scalar] = {}
    for operation in definition.approved_operations:
        bound = bound_from_request(operation, request)
        authority = read_authority(ports, operation.provider, bound, {})
        if not authority.allowed:
            raise RequestRefused("not-allowed", f"{operation.name}: {authority.reason}.")
        snapshot |= {f"{operation.name}_{name}": said for name, said in authority.snapshot.items()}
    return snapshot


def _same_request(existing: RunLedger, request_digest: str) -> RunLedger:
    if existing.run.request_digest != request_digest:
        raise RequestRefused(
            "idempotency-key-reused",
            "This Idempotency-Key was used with another request; nothing was started. Use a new "
            "key for a new request.",
        )
    return existing


def _new_run(
    ports: Ports,
    definition: WorkflowDefinition,
    opening: Opening,
    run_id: str,
    request_digest: str,
) -> Run:
    return Run(
        run_id=run_id,
        tenant_id=opening.tenant_id,
        customer_id=str(opening.request["customer_id"]),
        workflow=definition.version,
        state=RunState.ACTIVE,
        request=opening.request,
        request_digest=request_digest,
        opened_at_ms=ports.clock.now_ms(),
        epoch=FIRST_EPOCH,
        progress_deadline_seconds=definition.progress_deadline_seconds,
        max_executions=definition.max_executions,
    )
