"""Once a run has ended nobody looks any more, and no reader is told that somebody does."""

from collections.abc import Callable

import pytest

from ledger.transitions import EffectState, RunState
from tests.unit.ledger.desk import CLOSE, act, facts_of, packet, told
from tests.unit.ledger.situations import (
    mail_in_conflict,
    receipt_bounced,
    refund_contradicted,
    refund_in_conflict,
    refund_overdue,
)
from tests.unit.ledger.support import World

NEVER_PROVEN = "has an outcome that was never proven; do not repeat it"


@pytest.mark.parametrize(
    ("make", "place", "state", "sentence"),
    [
        (refund_overdue, 0, EffectState.UNKNOWN, f"Refund for USD 79.00 {NEVER_PROVEN}"),
        (refund_in_conflict, 0, EffectState.CONFLICT, f"Refund for USD 79.00 {NEVER_PROVEN}"),
        (refund_contradicted, 0, EffectState.CONTRADICTED, f"Refund for USD 79.00 {NEVER_PROVEN}"),
        (mail_in_conflict, 1, EffectState.CONFLICT, f"receipt email {NEVER_PROVEN}"),
        (receipt_bounced, 1, EffectState.CONTRADICTED, f"receipt email {NEVER_PROVEN}"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_what_is_in_doubt_when_a_run_is_closed_is_told_as_not_proven_by_every_reader(
    make: Callable[[], World], place: int, state: EffectState, sentence: str
) -> None:
    world = make()
    assert world.run().state is RunState.REVIEW
    assert told(world).effects[place].status != "not proven"

    act(world, CLOSE)

    assert world.run().state is RunState.CLOSED
    assert facts_of(world).effects[place].state is state
    assert told(world).effects[place].status == "not proven"
    assert told(world).effects[place].record_id is None
    assert sentence in packet(world).summary.removesuffix(".").split("; ", maxsplit=place)[place]
    assert "looking" not in packet(world).summary
    assert "looked up" not in packet(world).summary
