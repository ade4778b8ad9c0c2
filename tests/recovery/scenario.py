"""Words that the named scenarios share."""

import json
from collections.abc import Callable
from typing import Any

from ledger.effect import Effect
from ledger.run import RunLedger
from ledger.transitions import EffectState, RunState
from tests.recovery.invariants import check_invariants, check_outcome
from tests.recovery.world import World

REFUNDS = "/v1/refunds"
HOUR_MS = 3_600_000


def refund_of(ledger: RunLedger) -> Effect:
    """Return the run's one refund."""
    (found,) = [effect for effect in ledger.effects if effect.operation == "refund"]
    return found


def receipt_of(ledger: RunLedger) -> Effect:
    """Return the run's one receipt."""
    (found,) = [effect for effect in ledger.effects if effect.operation == "receipt"]
    return found


def claim_lapses(world: World) -> None:
    """Let the time pass in which the worker may still be inside its call."""
    world.clock.move_to(refund_of(world.ledger).attempts[-1].lease_until_ms)


def refund_is(state: EffectState) -> Callable[[RunLedger], bool]:
    """Return a point that is reached once the refund is in ``state``."""
    return lambda ledger: any(
        effect.operation == "refund" and effect.state is state for effect in ledger.effects
    )


def refund_path(world: World) -> list[str]:
    """Return the states that the refund went through, without repeats."""
    effect_id = refund_of(world.ledger).effect_id
    states = [event.state for event in world.events if event.subject == effect_id]
    return [state for number, state in enumerate(states) if states[:number][-1:] != [state]]


def is_awaiting(ledger: RunLedger) -> bool:
    """Return whether the customer is asked."""
    return ledger.run.state is RunState.AWAITING_APPROVAL


def finish(world: World) -> None:
    """Let everything go on until it is quiet, and check what always holds."""
    world.run()
    check_invariants(world)
    check_outcome(world)


def posts(world: World) -> list[tuple[str | None, bytes]]:
    """Return key and body of every refund that was asked of Stripe."""
    return [(post.key, post.body) for post in world.stripe.posts(REFUNDS)]


def task(world: World) -> dict[str, Any]:
    """Return what the run's execution hands to a function."""
    return {"run_id": world.ledger.run.run_id, "epoch": world.ledger.run.epoch}


def said(world: World, metric: str) -> list[float]:
    """Return the values of a metric that the world's processes have said, oldest first."""
    lines = map(json.loads, world.processes.metrics.getvalue().splitlines())
    return [value for line in lines for value in line.get(metric, ())]
