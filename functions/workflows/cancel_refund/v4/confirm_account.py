"""Confirm the account: the customer, the plan and the charge are as the request says."""

from ledger.admission import check_targets
from ledger.checkpoint import Checkpoint
from ledger.draft import Draft
from ledger.effect import Evidence
from ledger.errors import ProviderUnavailable, RequestRefused, ReviewRequired
from ledger.life import showing_life
from ledger.ports import Ports, TimeLeft
from ledger.provider import Contact, ProviderFault
from ledger.record import Scalar
from ledger.task import Task, check_may_act
from ledger.update import load, update
from runtime.stage import stage_handler
from workflows.cancel_refund.v4.contract import DEFINITION

CHECKPOINT = "account_confirmed"


def confirm_account(ports: Ports, _time_left: TimeLeft, task: Task) -> None:
    """Write ``account_confirmed`` with what was read, and the address for the receipt.

    Raises ReviewRequired when a target does not allow the request any more.
    """
    ledger = load(ports, task.run_id)
    check_may_act(ledger, task)
    if ledger.proven(CHECKPOINT) is not None:
        return
    with showing_life(ports, task):
        refusal, snapshot = _read_targets(ports, ledger.run.request)
        contact = _contact(ports, ledger.run.customer_id)
    if not refusal and contact is None:
        refusal = "the customer has no mail address for the receipt"

    def decide(draft: Draft) -> None:
        check_may_act(draft.ledger, task)
        if draft.ledger.proven(CHECKPOINT) is not None:
            return  # a duplicate was faster, and what was read since may be our own doing
        if refusal or contact is None:
            draft.send_to_review(refusal)
            return
        draft.put_personal({"email": contact.email, "name": contact.name})
        draft.reach(_checkpoint(snapshot | draft.ledger.run.request, draft), "read just now")

    confirmed = update(ports, task.run_id, task.actor, decide)
    if confirmed.proven(CHECKPOINT) is None:
        raise ReviewRequired(f"Run {task.run_id} went to review: {refusal}")


def _read_targets(ports: Ports, request: dict[str, Scalar]) -> tuple[str, dict[str, Scalar]]:
    try:
        return "", check_targets(ports, DEFINITION, request)
    except RequestRefused as refused:
        return refused.detail, {}


def _contact(ports: Ports, customer_id: str) -> Contact | None:
    try:
        return ports.directory.contact(customer_id)
    except ProviderFault as fault:
        raise ProviderUnavailable(
            f"The customer's contact could not be read ({fault}); nothing was sent."
        ) from fault


def _checkpoint(fields: dict[str, Scalar], draft: Draft) -> Checkpoint:
    contract = DEFINITION.contract(CHECKPOINT)
    checkpoint = Checkpoint(
        name=CHECKPOINT,
        evidence=Evidence(
            source=contract.owner,
            record_id=str(fields["subscription_id"]),
            provider_status="read",
            fields=fields,
            read_at_ms=draft.now_ms,
        ),
        reached_at_ms=draft.now_ms,
    )
    checkpoint.check(contract)
    return checkpoint


handler = stage_handler(confirm_account)
