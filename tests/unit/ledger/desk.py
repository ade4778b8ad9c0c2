"""An operator's desk: look at a run, choose on what is seen, and watch what follows."""

from ledger.act import Choice, perform_action
from ledger.actions import offers
from ledger.approve import Decision, decide_approval
from ledger.errors import ApprovalNeeded, LedgerError
from ledger.event import Actor
from ledger.offer import Offer, RecoveryAction
from ledger.packet import ResumePacket, resume_packet
from ledger.projection import RunFacts, project
from ledger.provider import RecordStatus
from ledger.run import RunLedger
from ledger.status import CustomerStatus, customer_status
from ledger.task import Task
from ledger.transitions import RunState
from tests.unit.ledger.sample import (
    CUSTOMER,
    LEASE_SECONDS,
    OPERATOR,
    RUN_ID,
    SETTLE_WINDOW_SECONDS,
)
from tests.unit.ledger.support import World

# As they are named on the wire, written out here: a renamed action breaks every caller.
RECONCILE = "reconcile_provider_state"
RESUME = "resume_from_checkpoint"
ASK = "request_fresh_customer_approval"
MARK = "mark_for_engineering_review"
CLOSE = "close_without_further_action"
SENT = "treat_as_sent"
AGAIN = "send_again"
MOVE = "move_to_registered_version"
UNDO = "offer_counter_effect"

# An execution takes a handful of steps; a run that takes more goes round in circles.
MAX_STEPS = 40


def facts_of(world: World) -> RunFacts:
    """Return the projection as it is now."""
    return project(world.definition, world.ledger, world.clock.now_ms())


def told(world: World) -> CustomerStatus:
    """Return what the customer is told now."""
    return customer_status(facts_of(world))


def packet(world: World, customer_text: str = "") -> ResumePacket:
    """Return what a model is told now."""
    return resume_packet(facts_of(world), customer_text)


def offered(world: World) -> tuple[Offer, ...]:
    """Return what an operator is offered now."""
    return offers(
        world.definition,
        world.ledger,
        lambda name: world.ports.providers[name].contract,
        world.clock.now_ms(),
        world.versions,
    )


def allowed(world: World) -> list[Offer]:
    """Return what an operator may do now."""
    return [found for found in offered(world) if found.allowed]


def offer(world: World, action: str, effect_id: str | None = None) -> Offer:
    """Return one offer that must exist."""
    (found,) = (
        found
        for found in offered(world)
        if (found.action.value, found.effect_id) == (action, effect_id)
    )
    return found


def choice(
    world: World, action: str, effect_id: str | None = None, reason: str = "the desk asked"
) -> Choice:
    """Return a choice made on the view as it is now."""
    return Choice(
        action=RecoveryAction(action),
        view_version=facts_of(world).view_version,
        reason=reason,
        effect_id=effect_id,
    )


def take(world: World, chosen: Choice, actor: Actor = OPERATOR) -> RunLedger:
    """Perform a choice."""
    return perform_action(world.ports, world.definition, RUN_ID, chosen, actor)


def act(world: World, action: str, effect_id: str | None = None) -> RunLedger:
    """Look, choose and perform."""
    return take(world, choice(world, action, effect_id))


def go_on(world: World) -> None:
    """Let the run's execution, its customer and time do what they do, until nothing is left."""
    for _ in range(MAX_STEPS):
        task = Task(run_id=RUN_ID, epoch=world.run().epoch)
        pending = world.ledger.pending_approval()
        if world.run().state is RunState.AWAITING_APPROVAL and pending is not None:
            decide_approval(
                world.ports,
                RUN_ID,
                pending.approval_id,
                pending.digest,
                Decision.APPROVE,
                CUSTOMER,
            )
        match world.resume(task):
            case "Done" | "Review":
                return
            case "Reconcile":
                world.pass_seconds(LEASE_SECONDS + SETTLE_WINDOW_SECONDS)
                _finish_pending(world)
                world.reconcile()
            case "AskCustomer":
                world.ask(f"token-of-{task.epoch}", task)
            case "IssueRefund":
                _stage(world, "refund", task)
            case "SendReceipt":
                _stage(world, "receipt", task)
    raise AssertionError(f"The run goes round in circles: {world.run()}")


def _stage(world: World, operation: str, task: Task) -> None:
    """Run a stage; what it cannot do, the next look at the ledger shows."""
    try:
        world.perform(operation, task)
    except ApprovalNeeded:
        world.ask(f"token-of-{task.epoch}", task)
    except LedgerError:
        world.pass_seconds(LEASE_SECONDS)  # the pause before the next try


def _finish_pending(world: World) -> None:
    """Let the provider finish what it has taken."""
    world.payments.held[:] = [
        found.model_copy(update={"status": RecordStatus.DONE})
        if found.status is RecordStatus.PENDING
        else found
        for found in world.payments.held
    ]
