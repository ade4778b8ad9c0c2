"""A refusal is read back: our own mark, on however many records, weighs more than the no."""

import pytest

from ledger.errors import EffectUnknown, ReviewRequired
from ledger.event import EventKind
from ledger.provider import ProviderRecord
from ledger.transitions import EffectState, RunState
from tests.unit.ledger.desk import ASK, facts_of, offer, packet, told
from tests.unit.ledger.sample import (
    BOUND,
    CARD_DECLINED,
    LEASE_SECONDS,
    OF_ANOTHER_RUN,
    REFUND_ID,
    a_record,
)
from tests.unit.ledger.scripted_provider import Step
from tests.unit.ledger.support import World, an_approved_world


def refused_beside(*records: ProviderRecord) -> World:
    """Return a world whose refund is refused while these records appear."""
    world = an_approved_world()

    def appear() -> None:
        world.payments.during_call = None
        world.payments.held[:] = records

    world.payments.during_call = appear
    world.payments.script = [Step(None, CARD_DECLINED)]
    return world


def test_two_records_of_ours_behind_a_refusal_are_no_refusal_and_lead_to_no_third_payment() -> None:
    world = refused_beside(a_record(record_id="re_1"), a_record(record_id="re_2"))

    with pytest.raises(EffectUnknown):
        world.perform()
    assert world.effect().state is EffectState.UNKNOWN
    assert told(world).effects[0].status == "being checked with the provider"
    assert "has an unknown outcome" in packet(world).summary
    world.pass_seconds(LEASE_SECONDS)
    world.reconcile()

    assert world.effect().state is EffectState.CONFLICT
    assert EventKind.EFFECT_REJECTED not in world.kinds
    assert world.run().state is RunState.REVIEW
    (refund, *_) = facts_of(world).effects
    assert [found.record_id for found in refund.candidates] == ["re_1", "re_2"]
    assert not offer(world, ASK).allowed
    assert len(world.payments.calls) == 1


@pytest.mark.parametrize("mark", [None, OF_ANOTHER_RUN])
def test_records_that_are_not_ours_leave_the_refusal_as_it_is_and_are_shown(
    mark: str | None,
) -> None:
    records = [a_record(record_id=name, mark=mark, fields=BOUND) for name in ("re_8", "re_9")]
    world = refused_beside(*records)

    with pytest.raises(ReviewRequired):
        world.perform()

    assert world.effect(REFUND_ID).state is EffectState.REJECTED
    (refund, *_) = facts_of(world).effects
    assert [found.record_id for found in refund.candidates] == ["re_8", "re_9"]
    assert told(world).effects[0].status == "refused by the provider"
