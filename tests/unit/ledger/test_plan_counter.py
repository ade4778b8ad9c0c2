"""What a write takes back is fixed when it is planned; what is on record is not planned anew."""

import pytest

from ledger.effect import Effect
from ledger.errors import EffectUnknown
from ledger.plan import existing_or_planned
from ledger.provider import RecordStatus
from ledger.transitions import EffectState, RunState
from tests.unit.ledger.sample import NO_ANSWER, RECEIPT_ID, REFUND_ID
from tests.unit.ledger.scripted_provider import Step
from tests.unit.ledger.situations import meets
from tests.unit.ledger.support import World, a_world, an_approved_world
from tests.unit.ledger.test_counter import agreed, with_counter
from tests.unit.ledger.test_plan import quote_another_refund


def planned(world: World, operation: str) -> Effect:
    """Return the write as it is planned now."""
    found = world.definition.operation(operation)
    return existing_or_planned(world.ports, world.definition, found, world.ledger)


def test_given_a_yes_to_taking_back_when_planned_then_the_write_names_what_it_takes_back() -> None:
    assert planned(agreed(), "take_back").compensates == REFUND_ID


def test_given_a_yes_to_taking_back_when_another_write_is_planned_then_it_takes_nothing_back() -> (
    None
):
    assert planned(agreed(), "receipt").compensates is None


def test_given_nothing_was_asked_when_a_counter_effect_is_planned_then_it_takes_nothing_back() -> (
    None
):
    assert planned(a_world(with_counter()), "take_back").compensates is None


def test_given_a_receipt_in_doubt_when_its_evidence_changes_then_it_is_read_first() -> None:
    world = an_approved_world()
    world.perform()
    meets(world, "receipt", Step(RecordStatus.DONE, NO_ANSWER), EffectUnknown)
    quote_another_refund(world)

    with pytest.raises(EffectUnknown):
        world.perform("receipt")

    assert world.effect(RECEIPT_ID).state is EffectState.UNKNOWN
    assert world.run().state is RunState.ACTIVE
