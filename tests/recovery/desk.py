"""An operator's desk in a world: what is offered there, and choosing it."""

from ledger.act import Choice, perform_action
from ledger.actions import offers
from ledger.event import Actor
from ledger.offer import Offer, RecoveryAction
from ledger.run import RunLedger
from tests.recovery.world import World
from workflows.registry import definition_for

OPERATOR = Actor(kind="operator", actor_id="operator-1")


def renewal_is_off(ledger: RunLedger) -> bool:
    """Return whether nothing but the refund and its receipt is left."""
    return ledger.proven("renewal_cancelled") is not None


def offered(world: World) -> dict[RecoveryAction, Offer]:
    """Return what an operator is offered now, by action."""
    found: tuple[Offer, ...] = world.processes.run(
        "console",
        lambda ports: offers(
            definition_for(world.ledger),
            world.ledger,
            lambda name: ports.providers[name].contract,
            world.clock.now_ms(),
            ports.versions,
        ),
    )
    return {offer.action: offer for offer in found}


def choose(world: World, action: RecoveryAction) -> None:
    """Let an operator look at the run and choose. Raises RequestRefused when it is not allowed."""
    choice = Choice(
        action=action,
        view_version=world.ledger.run.sequence,
        reason="the desk asked",
        effect_id=offered(world)[action].effect_id,
    )
    definition, run_id = definition_for(world.ledger), world.ledger.run.run_id
    world.processes.run(
        "console", lambda ports: perform_action(ports, definition, run_id, choice, OPERATOR)
    )
