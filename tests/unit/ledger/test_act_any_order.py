"""No order in which operators may act pays twice or leaves a run without a way on."""

import pytest

from ledger.provider import ProviderRecord, RecordStatus
from ledger.transitions import RunState
from tests.unit.ledger.desk import CLOSE, MARK, act, allowed, go_on
from tests.unit.ledger.situations import (
    SITUATIONS,
)
from tests.unit.ledger.support import World

# Deep enough for: look, ask again, and what follows from either.
DEPTH_ACTIONS = 3


def everything(name: str, path: tuple[tuple[str, str | None], ...]) -> World:
    """Return the world after the actions of ``path``, with all that follows from each."""
    world = SITUATIONS[name]()
    for action, effect_id in path:
        act(world, action, effect_id)
        go_on(world)
    return world


def paid(world: World) -> list[ProviderRecord]:
    """Return the refunds of ours that stand at the provider."""
    return [
        found
        for found in world.payments.held
        if found.status is RecordStatus.DONE and found.mark is not None
    ]


@pytest.mark.parametrize("name", SITUATIONS)
def test_no_order_of_actions_pays_twice_or_leaves_a_run_without_a_way_on(name: str) -> None:
    paid_before = len(paid(SITUATIONS[name]()))
    paths: list[tuple[tuple[str, str | None], ...]] = [()]
    for path in paths:  # grows while it is walked, down to DEPTH_ACTIONS
        world = everything(name, path)
        assert len(paid(world)) <= max(1, paid_before), path
        resent = sum(found.superseded for found in world.ledger.effects)
        assert len(world.post.held) <= 1 + resent, path
        assert len({call.idempotency_key for call in world.payments.calls}) <= 1 + len(
            world.ledger.approvals
        )
        ways = [(found.action.value, found.effect_id) for found in allowed(world)]
        if world.run().state is RunState.REVIEW:
            assert {action for action, _ in ways} - {MARK, CLOSE}, path
        if len(path) < DEPTH_ACTIONS:
            paths += [(*path, way) for way in ways]
