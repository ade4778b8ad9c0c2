"""Confirm, before anybody is asked, that every target is as the request says."""

from ledger.admission import check_targets
from ledger.checkpoint import Checkpoint
from ledger.draft import Draft
from ledger.effect import Evidence
from ledger.errors import InvariantBroken, ProviderUnavailable, RequestRefused, ReviewRequired
from ledger.life import showing_life
from ledger.ports import Ports
from ledger.provider import Contact, ProviderFault
from ledger.record import Scalar
from ledger.short import short_fields, short_text
from ledger.task import Task, check_may_act, check_version
from ledger.update import load, update
from ledger.workflow import Operation, WorkflowDefinition


def confirm_targets(
    ports: Ports, definition: WorkflowDefinition, task: Task, checkpoint: str
) -> None:
    """Write ``checkpoint`` with what the owners of the targets say.

    Of a version that writes to the customer the contact is kept as well.

    Raises:
        ReviewRequired: a target does not allow the request any more, its owner says less than the
            checkpoint has to show, or there is no contact and one is needed.
        ProviderUnavailable: an owner could not be read.
        StaleExecution: a newer execution owns the run.
    """
    ledger = load(ports, task.run_id)
    check_version(ledger.run, definition.version)
    check_may_act(ledger, task)
    if ledger.proven(checkpoint) is not None:
        return
    with showing_life(ports, task):
        refusal, read = _read_targets(ports, definition, ledger.run.request)
        contact = None
        mail = _mail(ports, definition)
        if mail is not None:
            contact = _contact(ports, ledger.run.customer_id)
    if not refusal and mail is not None and contact is None:
        refusal = f"the customer has no mail address for the {mail.label.lower()}"
    stored = ports.store.personal(task.run_id)
    personal = stored.fields if stored else {}

    def decide(draft: Draft) -> None:
        check_may_act(draft.ledger, task)
        if draft.ledger.proven(checkpoint) is not None:
            return  # a duplicate was faster, and what was read since may be our own doing
        reached = _checkpoint(definition, checkpoint, read, draft)
        stands_in_the_way = refusal or _unmet(definition, reached)
        if stands_in_the_way:
            draft.send_to_review(stands_in_the_way)
            return
        if contact is not None:
            draft.put_personal({**personal, "email": contact.email, "name": contact.name})
        draft.reach(reached, "read just now")

    confirmed = update(ports, task.run_id, task.actor, decide)
    if confirmed.proven(checkpoint) is None:
        raise ReviewRequired(f"Run {task.run_id} went to review: {confirmed.run.review_reason}")


def _read_targets(
    ports: Ports, definition: WorkflowDefinition, request: dict[str, Scalar]
) -> tuple[str, dict[str, Scalar]]:
    try:
        return "", check_targets(ports, definition, request)
    except RequestRefused as refused:
        return short_text(refused.detail), {}


def _mail(ports: Ports, definition: WorkflowDefinition) -> Operation | None:
    """Return the first operation that reads personal fields when it is made, None without one."""
    return next(
        (
            found
            for found in definition.operations
            if ports.providers[found.provider].contract.personal_fields
        ),
        None,
    )


def _contact(ports: Ports, customer_id: str) -> Contact | None:
    try:
        return ports.directory.contact(customer_id)
    except ProviderFault as fault:
        raise ProviderUnavailable(
            f"The customer's contact could not be read ({fault}); nothing was sent."
        ) from fault


def _checkpoint(
    definition: WorkflowDefinition, name: str, read: dict[str, Scalar], draft: Draft
) -> Checkpoint:
    """Return the checkpoint. Its evidence is what was read, and nothing of the request."""
    return Checkpoint(
        name=name,
        evidence=Evidence(
            source=definition.contract(name).owner,
            record_id=draft.ledger.run.customer_id,
            provider_status="read",
            fields=short_fields(read),
            read_at_ms=draft.now_ms,
        ),
        reached_at_ms=draft.now_ms,
    )


def _unmet(definition: WorkflowDefinition, checkpoint: Checkpoint) -> str:
    """Return what the checkpoint's evidence lacks; empty when it meets its contract."""
    try:
        checkpoint.check(definition.contract(checkpoint.name))
    except InvariantBroken as broken:
        return str(broken)
    return ""
